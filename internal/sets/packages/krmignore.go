package packages

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/muster-deploy/muster/internal/base/boundedio"
)

// ignoreName is the file at the top of a package that lists the files to leave out.
const ignoreName = ".krmignore"

// ignoreRules are the patterns of a .krmignore file, in a subset of the syntax of .gitignore: one
// pattern per line; * ? and [] within one name; a leading / for the top of the package; a trailing
// / for folders only; a leading ! for files to keep, in any order. There is no **.
type ignoreRules struct {
	out, in []pattern
}

// The limits of the file: each pattern is compared with each file of the package.
const (
	maxPatterns        = 1000
	maxPatternMistakes = 9
)

// pattern is one line.
type pattern struct {
	text   string // without slashes in front and at the end
	top    bool   // compared with whole paths, else with as many of the last names as it has itself
	folder bool   // for folders alone
}

// readIgnore reads the file of a folder. Without one nothing is ignored.
func readIgnore(dir string) (ignoreRules, error) {
	text, _, err := boundedio.ReadIn(dir, ignoreName)
	if err != nil {
		return ignoreRules{}, fmt.Errorf("read %s: %w", ignoreName, err)
	}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return ignoreRules{}, fmt.Errorf("%s: it is not text; save the file as text in UTF-8", ignoreName)
	}
	return parseIgnore(string(text))
}

func parseIgnore(text string) (ignoreRules, error) {
	var i ignoreRules
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
		if len(errs) == maxPatternMistakes {
			errs = append(errs, fmt.Errorf("%s: line %d and the rest: not read after %d mistakes",
				ignoreName, number, maxPatternMistakes))
			break
		}
		if len(i.out)+len(i.in) == maxPatterns {
			errs = append(errs, fmt.Errorf("%s: line %d: more than %d patterns; use * for many names",
				ignoreName, number, maxPatterns))
			break
		}
		if _, err := path.Match(p.text, ""); err != nil {
			errs = append(errs, fmt.Errorf(
				"%s: line %d: %q is no pattern; close the bracket, or put \\ before it",
				ignoreName, number, line,
			))
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

// has reports whether a path in the folder, with slashes, is ignored.
func (i ignoreRules) has(rel string, isFolder bool) bool {
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
