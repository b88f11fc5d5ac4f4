package main

import (
	"encoding/json"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// defectPackage is the package that the files with defects import. There is no such folder: the
// compiler reads that of this repository's module local in its place.
const defectPackage = "github.com/muster-deploy/muster/internal/defect"

// writeOverlay writes the files with all defects into a folder, and the file that has the compiler
// read them in place of others. It returns the path of this file. The number of a defect is its
// place in the list.
func writeOverlay(root, dir string, sites []site) (string, error) {
	replace := map[string]string{
		filepath.Join(root, "internal", "defect", "defect.go"): filepath.Join(
			root, "local", "mutants", "defect", "defect.go"),
	}
	for first := 0; first < len(sites); {
		file, last := sites[first].File, first
		for last < len(sites) && sites[last].File == file {
			last++
		}
		path := filepath.Join(root, filepath.FromSlash(file))
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		rewritten := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		r := &rewriter{text: string(text), sites: sites}
		if err := os.WriteFile(rewritten, []byte(r.file(first, last)), 0o600); err != nil {
			return "", err
		}
		replace[path] = rewritten
		first = last
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o600)
}

// rewriter writes one file with its defects, each of which is off until it is turned on.
type rewriter struct {
	text  string
	sites []site
}

// file returns the file with the defects from number first up to last. Its lines have the numbers
// that they had.
func (r *rewriter) file(first, last int) string {
	text := r.span(0, len(r.text), first, last)
	clause := strings.Index("\n"+text, "\npackage ")
	end := clause + strings.IndexByte(text[clause:], '\n')
	return text[:end] + "; import defect \"" + defectPackage + "\"" + text[end:]
}

// span returns a part of the text with the defects in it.
func (r *rewriter) span(start, end, first, last int) string {
	var b strings.Builder
	for first < last {
		s, next := &r.sites[first], first+1
		for next < last && r.sites[next].end <= s.end {
			next++
		}
		b.WriteString(r.text[start:s.start])
		b.WriteString(r.defect(first, next))
		start, first = s.end, next
	}
	b.WriteString(r.text[start:end])
	return b.String()
}

// defect returns the text of one place, in which there are those up to last.
func (r *rewriter) defect(number, last int) string {
	s, first := &r.sites[number], number+1
	switch s.form {
	case negated:
		return fmt.Sprintf("(defect.On(%d) != (%s))", number, r.span(s.start, s.end, first, last))
	case noError:
		return fmt.Sprintf("func() error { if defect.On(%d) { return nil }; return %s }()", number,
			r.span(s.start, s.end, first, last))
	}
	middle := first
	for middle < last && r.sites[middle].end <= s.left {
		middle++
	}
	left := r.span(s.start, s.left, first, middle)
	right := r.span(s.right, s.end, middle, last)
	if s.form == compared {
		return fmt.Sprintf("(func() bool { if defect.On(%d) { return %s %s %s }; return %s %s %s }())",
			number, left, s.op, right, left, other[s.op], right)
	}
	// With "and" the right side decides if the left one is true, with "or" if that is false.
	decides := "=="
	if s.op == token.LOR {
		decides = "!="
	}
	return fmt.Sprintf("(func() bool { defectLeft := %s; if defectLeft %s defect.On(%d) "+
		"{ return %s }; return defectLeft }())", left, decides, number, right)
}
