package kustomize

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/muster-deploy/muster/internal/base/plaintext"
)

// maxProblems limits the problems that are reported.
const maxProblems = 100

// problems are the different problems of a kustomization and of those that it names.
type problems struct {
	dir     string // paths in problems are relative to it
	errs    []error
	known   map[string]bool
	omitted int // problems, and entries that were not looked at since there were enough problems
}

// full reports whether no more problems are kept.
func (p *problems) full() bool { return len(p.errs) == maxProblems }

// add adds a problem of a file, unless it is known.
func (p *problems) add(path, format string, args ...any) {
	if rel, err := filepath.Rel(p.dir, path); err == nil {
		path = filepath.ToSlash(rel)
	}
	if p.full() {
		p.omitted++
		return
	}
	text := plaintext.Line(fmt.Sprintf("%s: %s", path, fmt.Sprintf(format, args...)))
	if p.known[text] {
		return
	}
	if p.known == nil {
		p.known = map[string]bool{}
	}
	p.known[text] = true
	p.errs = append(p.errs, errors.New(text))
}

// warn passes all problems to a function, a line each, unless it is nil.
func (p *problems) warn(to func(text string)) {
	if to == nil {
		return
	}
	for _, err := range p.errs {
		to(err.Error())
	}
	if p.omitted > 0 {
		to(fmt.Sprintf("and %d more warnings about kustomizations", p.omitted))
	}
}

// join returns all problems, a line each.
func (p *problems) join() error {
	if p.omitted > 0 {
		more := fmt.Errorf("and up to %d more problems", p.omitted)
		return errors.Join(append(p.errs, more)...)
	}
	return errors.Join(p.errs...)
}
