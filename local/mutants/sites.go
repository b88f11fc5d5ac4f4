package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// site is a place of a file at which there can be a defect.
type site struct {
	File       string // below the root, with slashes
	Line       int
	Text, With string // one line each
	start, end int
	form       form
	op         token.Token // of an operator, the one that takes its place
	left       int         // of an operator, the end of what is before it
	right      int         // of an operator, the start of what comes after it
}

// form is how a text becomes a defect.
type form int

const (
	negated  form = iota // of a condition or an answer
	noError              // instead of an error
	compared             // with the bound or without it
	joined               // by the other word of logic
)

// what returns the defect on one line.
func (s *site) what() string { return fmt.Sprintf("%s became %s", s.Text, s.With) }

// findSites returns the places in the files of folders, in the order of their names. Tests, what
// only tests use, generated files and those of other systems have none.
func findSites(root string, folders []string) (sites []site, err error) {
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(
			path string, entry fs.DirEntry, err error,
		) error {
			name := entry.Name()
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (name == "testdata" || name == "tools" || strings.HasSuffix(name, "test")):
				return fs.SkipDir
			case entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			if built, err := build.Default.MatchFile(filepath.Dir(path), name); err != nil || !built {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if bytes.Contains(text, []byte("// Code generated")) {
				return nil
			}
			file, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			found, err := sitesOf(filepath.ToSlash(file), text)
			sites = append(sites, found...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return sites, nil
}

// other is the operator that takes the place of another one.
var other = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.LAND: token.LOR, token.LOR: token.LAND,
}

// sitesOf returns the places of one file: conditions that are turned round, comparisons that take
// in their bound or no longer, words of logic that are exchanged, answers that are turned round,
// and errors that are not returned. A place comes before those inside it.
func sitesOf(name string, text []byte) ([]site, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &finder{name: name, text: text, set: set}
	f.visit(file, nil)
	slices.SortStableFunc(f.sites, func(a, b site) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	return f.sites, nil
}

// finder finds the places of one file.
type finder struct {
	name  string
	text  []byte
	set   *token.FileSet
	sites []site
}

// offset returns the place of a position in the text.
func (f *finder) offset(at token.Pos) int { return f.set.Position(at).Offset }

// source returns the text between two positions on one line.
func (f *finder) source(from, to token.Pos) string {
	return strings.Join(strings.Fields(string(f.text[f.offset(from):f.offset(to)])), " ")
}

// visit finds the places below a node, in a function with these results.
func (f *finder) visit(node ast.Node, results *ast.FieldList) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil {
				f.visit(n.Body, n.Type.Results)
			}
			return false
		case *ast.FuncLit:
			f.visit(n.Body, n.Type.Results)
			return false
		case *ast.IfStmt:
			f.negate(n.Cond)
		case *ast.SwitchStmt:
			f.cases(n)
		case *ast.BinaryExpr:
			f.operator(n)
		case *ast.ReturnStmt:
			f.answers(n, kinds(results))
		}
		return true
	})
}

// add adds a place.
func (f *finder) add(of ast.Expr, as form, with string) *site {
	text := f.source(of.Pos(), of.End())
	f.sites = append(f.sites, site{
		File: f.name, Line: f.set.Position(of.Pos()).Line, form: as, Text: text, With: with,
		start: f.offset(of.Pos()), end: f.offset(of.End()),
	})
	return &f.sites[len(f.sites)-1]
}

// negate adds a condition.
func (f *finder) negate(condition ast.Expr) {
	f.add(condition, negated, "!("+f.source(condition.Pos(), condition.End())+")")
}

// cases adds the conditions of a switch without a value.
func (f *finder) cases(n *ast.SwitchStmt) {
	if n.Tag != nil {
		return
	}
	for _, clause := range n.Body.List {
		for _, condition := range clause.(*ast.CaseClause).List {
			f.negate(condition)
		}
	}
}

// operator adds a comparison or a word of logic.
func (f *finder) operator(n *ast.BinaryExpr) {
	op, ok := other[n.Op]
	if !ok {
		return
	}
	as := compared
	if op == token.LAND || op == token.LOR {
		as = joined
	}
	s := f.add(n, as, fmt.Sprintf("%s %s %s", f.source(n.X.Pos(), n.X.End()), op,
		f.source(n.Y.Pos(), n.Y.End())))
	s.op, s.left, s.right = op, f.offset(n.X.End()), f.offset(n.Y.Pos())
}

// answers adds the answers and errors that a function returns.
func (f *finder) answers(n *ast.ReturnStmt, kinds []string) {
	if len(n.Results) != len(kinds) {
		return
	}
	for i, kind := range kinds {
		switch value := n.Results[i]; {
		case kind == "bool":
			f.negate(value)
		case kind == "error" && !isNil(value):
			f.add(value, noError, "nil")
		}
	}
}

// kinds returns the names of the types of results, empty for those without a plain name.
func kinds(results *ast.FieldList) (kinds []string) {
	if results == nil {
		return nil
	}
	for _, field := range results.List {
		name := ""
		if ident, ok := field.Type.(*ast.Ident); ok {
			name = ident.Name
		}
		for range max(1, len(field.Names)) {
			kinds = append(kinds, name)
		}
	}
	return kinds
}

func isNil(value ast.Expr) bool {
	ident, ok := value.(*ast.Ident)
	return ok && ident.Name == "nil"
}
