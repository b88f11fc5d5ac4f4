package inventory

import (
	"fmt"
	"strings"

	"github.com/muster-deploy/muster/internal/object"
)

// A key of a ConfigMap inventory is NAMESPACE_NAME_GROUP_KIND; namespace and group may be empty.
// Keys cannot hold the colons of RBAC names: a colon becomes two underscores.
const (
	keySeparator = "_"
	keyColon     = "__"
)

// formatKey returns the key of a member. It returns an error if parseKey would return another
// object.
func formatKey(ref object.Ref) (string, error) {
	name := ref.Name
	if ref.Group == "rbac.authorization.k8s.io" {
		name = strings.ReplaceAll(name, ":", keyColon)
	}
	key := strings.Join([]string{ref.Namespace, name, ref.Group, ref.Kind}, keySeparator)
	if read, err := parseKey(key); err != nil || read != ref || strings.Contains(key, ":") {
		return "", fmt.Errorf("a ConfigMap inventory cannot hold %s, because of its name", ref)
	}
	return key, nil
}

func parseKey(key string) (object.Ref, error) {
	wrong := func(what string) (object.Ref, error) {
		return object.Ref{}, fmt.Errorf(
			"the key %q of its data names no object: %s, and it should be NAMESPACE_NAME_GROUP_KIND",
			key, what,
		)
	}
	namespace, rest, ok := strings.Cut(key, keySeparator)
	kindAt := strings.LastIndex(rest, keySeparator)
	if !ok || kindAt < 0 {
		return wrong("it has too few fields")
	}
	kind, rest := rest[kindAt+1:], rest[:kindAt]
	groupAt := strings.LastIndex(rest, keySeparator)
	if groupAt < 0 {
		return wrong("it has too few fields")
	}
	group, name := rest[groupAt+1:], strings.ReplaceAll(rest[:groupAt], keyColon, ":")
	switch {
	case strings.Contains(name, keySeparator):
		return wrong("it has too many fields")
	case kind == "" || name == "":
		return wrong("it has no kind or no name")
	}
	return object.Ref{Group: group, Kind: kind, Namespace: namespace, Name: name}, nil
}
