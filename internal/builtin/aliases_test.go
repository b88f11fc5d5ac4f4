package builtin

import (
	"slices"
	"testing"
)

// TestAliases checks that the types of the table have its fields, with their former names.
func TestAliases(t *testing.T) {
	for _, alias := range aliases() {
		for _, name := range alias.Types {
			found := 0
			for of := range schemaTypes(t) {
				if withoutVersion(of) != name || table().types[of] == "" {
					continue
				}
				found++
				fields := typeNamed(of).structFields()
				for _, name := range []string{alias.Field, alias.Former} {
					if !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
						t.Errorf("%s has no field %s", of, name)
					}
				}
				if len(AliasesOf(patchMetaLookup{typeNamed(of)})) == 0 {
					t.Errorf("the aliases of %s are not found", of)
				}
			}
			if found == 0 {
				t.Errorf("there is no type %s", name)
			}
		}
	}
}
