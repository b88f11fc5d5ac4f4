package packages

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ignoreName is the file at the top of a package that says what is no part of it.
const ignoreName = ".krmignore"

// ignore is what a .krmignore file says, in a part of the grammar of gitignore: a pattern per line, * ? and [] within one
// name, / in front for the top of the package and at the end for folders alone, ! in front for what is part of the package
// all the same, wherever the line stands. There is no **.
type ignore struct {
	out, in []pattern
}

// pattern is one line.
type pattern struct {
	text   string // without slashes in front and at the end
	top    bool   // compared with whole paths, else with as many of the last names as it has itself
	folder bool   // for folders alone
}

// readIgnore reads the file of a folder; without one nothing is ignored.
func readIgnore(dir string) (ignore, error) {
	text, err := os.ReadFile(filepath.Join(dir, ignoreName))
	if errors.Is(err, fs.ErrNotExist) {
		return ignore{}, nil
	}
	if err != nil {
		return ignore{}, fmt.Errorf("read %s: %w", ignoreName, err)
	}
	return parseIgnore(string(text))
}

func parseIgnore(text string) (ignore, error) {
	var i ignore
	var errs []error
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.Trim(line, " \t\r\n")
		negated := strings.HasPrefix(line, "!")
		p := parsePattern(strings.TrimPrefix(line, "!"))
		if p.text == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if _, err := path.Match(p.text, ""); err != nil {
			errs = append(errs, fmt.Errorf("%s: line %d: %q is no pattern; close the bracket, or put \\ before it", ignoreName, number, line))
			continue
		}
		if negated {
			i.in = append(i.in, p)
		} else {
			i.out = append(i.out, p)
		}
	}
	return i, errors.Join(errs...)
}

func parsePattern(text string) pattern {
	return pattern{strings.Trim(text, "/"), strings.HasPrefix(text, "/"), strings.HasSuffix(text, "/")}
}

// has reports whether a path below the folder, with slashes, is ignored.
func (i ignore) has(rel string, isFolder bool) bool {
	matches := func(p pattern) bool { return p.matches(rel, isFolder) }
	return slices.ContainsFunc(i.out, matches) && !slices.ContainsFunc(i.in, matches)
}

func (p pattern) matches(rel string, isFolder bool) bool {
	if p.folder && !isFolder {
		return false
	}
	if names := strings.Split(rel, "/"); !p.top {
		rel = path.Join(names[max(0, len(names)-1-strings.Count(p.text, "/")):]...)
	}
	matched, err := path.Match(p.text, rel)
	return matched && err == nil
}
