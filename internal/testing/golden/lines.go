package golden

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// Grow compares the lines of a file with those of a list that may grow and not shrink: each line of
// the file must be in the list. With -update it adds to the file what the list has in addition. It
// never removes a line: whoever breaks a promise does so by hand.
func Grow(t *testing.T, path string, list []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	missing, added := growth(string(text), list)
	for _, line := range missing {
		t.Errorf("%s promises this, and it is gone or different: %s", path, line)
	}
	if len(added) == 0 || !*update {
		return
	}
	lines := slices.Sorted(maps.Keys(set(append(split(string(text)), added...))))
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// growth returns the lines of a text that are not in a list, and those of the list that are not in
// the text.
func growth(text string, list []string) (missing, added []string) {
	promised, found := set(split(text)), set(list)
	for _, line := range slices.Sorted(maps.Keys(promised)) {
		if !found[line] {
			missing = append(missing, line)
		}
	}
	for _, line := range slices.Sorted(maps.Keys(found)) {
		if !promised[line] {
			added = append(added, line)
		}
	}
	return missing, added
}

// split returns the lines of a text.
func split(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}

// set returns lines as a set.
func set(lines []string) map[string]bool {
	found := map[string]bool{}
	for _, line := range lines {
		found[line] = true
	}
	return found
}
