package config

import "strings"

// subject is an object to match. The fields for matchers are read when the first matcher needs
// them, and again after the object may have changed.
type subject struct {
	obj                                      map[string]any
	known                                    bool
	apiVersion, group, kind, namespace, name string
	annotations                              map[string]any
}

// facts reads the fields for matchers unless they are known.
func (s *subject) facts() *subject {
	if s.known {
		return s
	}
	s.known = true
	s.apiVersion, s.kind, s.group = text(s.obj, "apiVersion"), text(s.obj, "kind"), ""
	if before, _, found := strings.Cut(s.apiVersion, "/"); found {
		s.group = before
	}
	metadata, _ := s.obj["metadata"].(map[string]any)
	s.namespace, s.name = text(metadata, "namespace"), text(metadata, "name")
	if generated := text(metadata, "generateName"); s.name == "" && generated != "" {
		s.name = generated + "*"
	}
	s.annotations, _ = metadata["annotations"].(map[string]any)
	return s
}

// text returns a string field, or "" if there is none.
func text(fields map[string]any, name string) string {
	value, _ := fields[name].(string)
	return value
}
