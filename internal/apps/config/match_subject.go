package config

import "strings"

// subject is an object that matchers are asked about. What they look at is read when the first asks, and again after the
// object may have changed.
type subject struct {
	obj                                      map[string]any
	known                                    bool
	apiVersion, group, kind, namespace, name string
	annotations                              map[string]any
}

// facts reads what matchers look at, if it is not known.
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

// text gives a string field, empty if there is none.
func text(fields map[string]any, name string) string {
	value, _ := fields[name].(string)
	return value
}
