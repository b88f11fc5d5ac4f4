package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// site is a place of a file at which a text can be replaced by a defect.
type site struct {
	File       string // below the root, with slashes
	Line       int
	start, end int
	Text, With string
}

// what returns the defect on one line.
func (s *site) what() string {
	flat := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	return fmt.Sprintf("%s became %s", flat(s.Text), flat(s.With))
}

// apply returns the file with the defect.
func (s *site) apply(text []byte) []byte {
	return slices.Concat(text[:s.start], []byte(s.With), text[s.end:])
}

// findSites returns the places in the files of folders, in the order of their names. Tests, what
// only tests use, and generated files have none.
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
// and errors that are not returned.
func sitesOf(name string, text []byte) ([]site, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var sites []site
	add := func(from, to token.Pos, with func(text string) string) {
		start, end := set.Position(from), set.Position(to)
		was := string(text[start.Offset:end.Offset])
		sites = append(sites, site{
			File: name, Line: start.Line, start: start.Offset, end: end.Offset, Text: was, With: with(was),
		})
	}
	not := func(text string) string { return "!(" + text + ")" }
	var visit func(node ast.Node, results *ast.FieldList)
	visit = func(node ast.Node, results *ast.FieldList) {
		ast.Inspect(node, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Body != nil {
					visit(n.Body, n.Type.Results)
				}
				return false
			case *ast.FuncLit:
				visit(n.Body, n.Type.Results)
				return false
			case *ast.IfStmt:
				add(n.Cond.Pos(), n.Cond.End(), not)
			case *ast.BinaryExpr:
				if op, ok := other[n.Op]; ok {
					add(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), func(string) string { return op.String() })
				}
			case *ast.ReturnStmt:
				for i, kind := range kinds(results) {
					if len(n.Results) != len(kinds(results)) {
						break
					}
					value := n.Results[i]
					switch {
					case kind == "bool":
						add(value.Pos(), value.End(), not)
					case kind == "error" && !isNil(value):
						add(value.Pos(), value.End(), func(string) string { return "nil" })
					}
				}
			}
			return true
		})
	}
	visit(file, nil)
	return sites, nil
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
