package builtin

import (
	_ "embed"
	"maps"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

//go:embed unions.yaml
var unionsText []byte

// union is a type of which an object has one member only, as unions.yaml describes it.
type union struct {
	Types   []string `json:"types"`
	Members []string `json:"members"`
	// Together are members that an object may have at once.
	Together [][]string `json:"together"`
	// Discriminator is the field that names the member, a string or a boolean; Values are its values
	// with the members that each allows.
	Discriminator string              `json:"discriminator"`
	Values        map[string][]string `json:"values"`
}

// unions returns the embedded table. A test makes sure that it can be read.
var unions = sync.OnceValue(func() (table []union) {
	if err := yaml.UnmarshalStrict(unionsText, &table); err != nil {
		panic(err)
	}
	return table
})

// Rivals returns the fields of a live struct, sorted, that cannot be beside those of a desired one,
// which lacks them: other members of the same union.
func Rivals(meta strategicpatch.LookupPatchMeta, want, live map[string]any) (fields []string) {
	m, ok := meta.(patchMetaLookup)
	if !ok || m.goType == nil {
		return nil
	}
	for _, u := range unions() {
		if slices.Contains(u.Types, m.structName()) {
			fields = append(fields, u.rivals(want, live)...)
		}
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// IsComplete reports whether a part of a valid struct has what the struct must have, as far as it
// has that: the fields that are not optional, and a member of a union without a discriminator. It
// is true for other types.
func IsComplete(meta strategicpatch.LookupPatchMeta, part, whole map[string]any) bool {
	m, ok := meta.(patchMetaLookup)
	if !ok || m.goType == nil || m.structName() == "" {
		return true
	}
	t := m.goType
	if t.kind == "ptr" {
		t = t.elem
	}
	lacks := func(name string) bool { return whole[name] != nil && part[name] == nil }
	if slices.ContainsFunc(t.structFields(), func(f field) bool {
		return !f.omitEmpty && !f.omitZero && lacks(f.name)
	}) {
		return false
	}
	return !slices.ContainsFunc(unions(), func(u union) bool {
		has := func(name string) bool { return part[name] != nil }
		return slices.Contains(u.Types, m.structName()) && u.Discriminator == "" &&
			slices.ContainsFunc(u.Members, lacks) && !slices.ContainsFunc(u.Members, has)
	})
}

// SameUnion returns the fields of a struct, sorted, that belong to a union with a member or its
// discriminator, without that itself.
func SameUnion(meta strategicpatch.LookupPatchMeta, fields map[string]any, name string) []string {
	m, ok := meta.(patchMetaLookup)
	if !ok || m.goType == nil {
		return nil
	}
	var same []string
	for _, u := range unions() {
		all := append(u.members(), u.Discriminator)
		if !slices.Contains(u.Types, m.structName()) || !slices.Contains(all, name) {
			continue
		}
		for _, member := range all {
			if _, has := fields[member]; has && member != name {
				same = append(same, member)
			}
		}
	}
	slices.Sort(same)
	return slices.Compact(same)
}

func (u union) rivals(want, live map[string]any) (fields []string) {
	isSet := func(member string) bool { return want[member] != nil }
	chosen := slices.DeleteFunc(u.members(), func(member string) bool { return !isSet(member) })
	named, isNamed := valueText(want[u.Discriminator])
	allowed, isKnown := u.Values[named]
	switch {
	case isNamed && !isKnown, !isNamed && len(chosen) == 0:
		return nil
	case isNamed:
		chosen = allowed
	}
	for _, member := range u.members() {
		_, isWanted := want[member]
		if live[member] != nil && !isWanted && !u.fits(member, chosen, isNamed) {
			fields = append(fields, member)
		}
	}
	of, isLive := valueText(live[u.Discriminator])
	if allows, ok := u.Values[of]; ok && isLive && !isNamed && !contains(allows, chosen) {
		fields = append(fields, u.Discriminator)
	}
	return fields
}

// valueText returns a string, or the text of a boolean.
func valueText(value any) (_ string, ok bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case bool:
		return strconv.FormatBool(value), true
	default:
		return "", false
	}
}

// members returns all members, sorted.
func (u union) members() []string {
	members := slices.Clone(u.Members)
	for _, allowed := range u.Values {
		members = append(members, allowed...)
	}
	slices.Sort(members)
	return slices.Compact(members)
}

// fits reports whether a member may be beside chosen ones, which are all that are allowed if they
// are named.
func (u union) fits(member string, chosen []string, named bool) bool {
	if named || slices.Contains(chosen, member) {
		return slices.Contains(chosen, member)
	}
	all := append(slices.Clone(chosen), member)
	for _, group := range slices.AppendSeq(slices.Clone(u.Together), maps.Values(u.Values)) {
		if contains(group, all) {
			return true
		}
	}
	return false
}

// contains reports whether a list has all of some members.
func contains(list, members []string) bool {
	return !slices.ContainsFunc(members, func(m string) bool { return !slices.Contains(list, m) })
}
