//go:build !race

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestSystems checks the types of the program for every system of a release, of which tests run on
// one alone. It compiles nothing: of other modules it reads the declarations. With the race
// detector that takes long, so that 'make check' runs it.
func TestSystems(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "/")
		if seen[system] {
			continue
		}
		seen[system] = true
		found, err := packages.Load(&packages.Config{
			Mode: packages.LoadAllSyntax, Dir: root, ParseFile: declarationsOutside(root),
			Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch),
		}, "./cmd/muster")
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		packages.Visit(found, nil, func(p *packages.Package) {
			if !strings.HasPrefix(p.PkgPath, "github.com/muster-deploy/muster") {
				return
			}
			count++
			for _, err := range p.Errors {
				t.Errorf("%s: %v", system, err)
			}
		})
		if count < 50 {
			t.Errorf("%s: only %d packages of the program were found", system, count)
		}
	}
}

// declarationsOutside returns the function that parses files, without the bodies of functions in
// files outside of a folder.
func declarationsOutside(
	root string,
) func(*token.FileSet, string, []byte) (*ast.File, error) {
	return func(set *token.FileSet, name string, text []byte) (*ast.File, error) {
		parsed, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		if parsed == nil || strings.HasPrefix(name, root+string(filepath.Separator)) {
			return parsed, err
		}
		for _, d := range parsed.Decls {
			if function, ok := d.(*ast.FuncDecl); ok {
				function.Body = nil
			}
		}
		return parsed, err
	}
}
