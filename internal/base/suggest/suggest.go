// Package suggest finds what was meant by a word that is not known.
//
// It compares words by their letters. The caller knows the words, and what to do with them.
package suggest

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// most is how many words are suggested.
const most = 3

// longest is the length of words that are compared, in letters. Comparing takes time and memory in
// proportion to the product of two lengths.
const longest = 256

// Distance returns how many letters have to be inserted, removed, replaced, or exchanged with the
// next one, to make one text of the other. Of texts above 256 letters it is the length of the
// longer one.
func Distance(from, to string) int {
	a, b := []rune(from), []rune(to)
	if n := max(len(a), len(b)); n > longest {
		return n
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default:
				rows[i][j] = 1 + min(rows[i-1][j], rows[i][j-1], rows[i-1][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// Nearest returns the words that differ least from a word, at most three, sorted: by at most a
// third of its letters, and by no more than three. Hyphens, dots, slashes, underscores and the case
// of letters do not count. Words that begin with it are near, too, if none differs that little.
func Nearest(word string, words []string) []string {
	meant := plain(word)
	limit := min(3, len([]rune(meant))/3)
	best, found := limit, []string(nil)
	for _, other := range words {
		if other == word {
			continue
		}
		candidate := plain(other)
		if abs(len([]rune(candidate))-len([]rune(meant))) > limit {
			continue
		}
		switch distance := Distance(meant, candidate); {
		case distance < best:
			best, found = distance, []string{other}
		case distance == best:
			found = append(found, other)
		}
	}
	if len(found) == 0 && len(meant) > 2 {
		for _, other := range words {
			if strings.HasPrefix(plain(other), meant) {
				found = append(found, other)
			}
		}
	}
	slices.SortFunc(found, func(a, b string) int {
		return cmp.Or(cmp.Compare(Distance(word, a), Distance(word, b)), cmp.Compare(a, b))
	})
	found = slices.Compact(found)
	return found[:min(len(found), most)]
}

// Hint returns a question about the nearest words as the end of an error: "; did you mean web?".
// Each word has the prefix before it. It is empty if no word is near.
func Hint(word string, words []string, prefix string) string {
	near := Nearest(word, words)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + prefix + strings.Join(near, " or "+prefix) + "?"
}

// HintPath returns a question about the files, or only the folders, that are beside a path and have
// nearly its name, as Hint does.
func HintPath(path string, folders bool) string {
	path = strings.TrimRight(path, `/\`)
	dir, name := filepath.Split(path)
	found, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil {
		return ""
	}
	var names []string
	for _, entry := range found {
		if !folders || entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return Hint(name, names, dir)
}

// plain returns a word without what does not count.
func plain(word string) string {
	return strings.NewReplacer("-", "", ".", "", "_", "", "/", "").Replace(strings.ToLower(word))
}

func abs(n int) int { return max(n, -n) }
