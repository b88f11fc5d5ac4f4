package internal

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	classifier "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
)

// allowedLicenses are the licenses that a module of the program may have: those that ask for a
// notice alone.
var allowedLicenses = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}

// documentedDependencies returns the table of docs/dependencies.md: the license of each module.
func documentedDependencies(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(text), "\n## ")
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\| [^|]+ \\|$")
	rows := map[string]string{}
	for _, match := range row.FindAllStringSubmatch(table, -1) {
		if _, again := rows[match[1]]; again {
			t.Errorf("docs/dependencies.md has two rows for %s", match[1])
		}
		rows[match[1]] = match[2]
	}
	return rows
}

// TestDependenciesAreDocumented compares the table of docs/dependencies.md with the direct
// dependencies and the tools of go.mod.
func TestDependenciesAreDocumented(t *testing.T) {
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
		Tool []struct{ Path string }
	}
	if err := json.Unmarshal([]byte(run(t, "go", "mod", "edit", "-json")), &mod); err != nil {
		t.Fatal(err)
	}
	rows := documentedDependencies(t)
	wanted := map[string]bool{}
	for _, required := range mod.Require {
		isTool := false
		for _, tool := range mod.Tool {
			isTool = isTool || strings.HasPrefix(tool.Path, required.Path+"/")
		}
		if required.Indirect && !isTool {
			continue
		}
		wanted[required.Path] = true
		if rows[required.Path] == "" {
			t.Errorf("docs/dependencies.md does not say why go.mod requires %s", required.Path)
		}
	}
	for documented := range rows {
		if !wanted[documented] {
			t.Errorf("docs/dependencies.md has a row for %s, which go.mod does not require", documented)
		}
	}
}

// TestLicenses checks the license of each module in the program and in its tests.
func TestLicenses(t *testing.T) {
	rows := documentedDependencies(t)
	const format = `{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}`
	modules := strings.Split(strings.TrimSpace(
		run(t, "go", "list", "-deps", "-test", "-f", format, module+"/...")), "\n")
	slices.Sort(modules)
	known, err := assets.DefaultClassifier()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, line := range slices.Compact(modules) {
		path, dir, found := strings.Cut(line, " ")
		if !found {
			continue
		}
		checked++
		licenses := licensesIn(t, known, dir)
		if len(licenses) == 0 {
			t.Errorf("%s has no license that is recognized", path)
		}
		for _, license := range licenses {
			if !slices.Contains(allowedLicenses, license) {
				t.Errorf("%s has the license %s; allowed are %s", path, license,
					strings.Join(allowedLicenses, ", "))
			}
		}
		if want := rows[path]; want != "" && !slices.Contains(licenses, want) {
			t.Errorf("docs/dependencies.md says %s of %s, but its files say %v", want, path, licenses)
		}
	}
	if checked < 30 {
		t.Errorf("checked %d modules only", checked)
	}
}

// licensesIn returns the SPDX names of the licenses in the license files of a folder.
func licensesIn(t *testing.T, known *classifier.Classifier, dir string) []string {
	t.Helper()
	var licenses []string
	for _, pattern := range []string{"LICENSE*", "LICENCE*", "COPYING*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, ".docs") {
				continue // that of the documentation, which is not in the program
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range known.Match(text).Matches {
				if match.MatchType == "License" {
					licenses = append(licenses, match.Name)
				}
			}
		}
	}
	slices.Sort(licenses)
	return slices.Compact(licenses)
}
