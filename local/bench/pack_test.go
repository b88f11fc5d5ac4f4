package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPackOfTwoEditions(t *testing.T) {
	for _, tc := range []struct {
		name                  string
		content               content
		n                     int
		objects, kinds, files int
		changed               int
	}{
		{"mixed", mixed, 2500, 2500, len(shapes), 3, 25},
		{"pods", pods, 250, 250, 1, 1, 3},
		{"large", large, 4, 4 + fileParts + 1, 2, 6, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := newPack(t.TempDir(), "demo", []string{"demo"})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.write(tc.content, tc.n, 2); err != nil {
				t.Fatal(err)
			}
			objects, err := readObjects(p.objects())
			if err != nil {
				t.Fatal(err)
			}
			kinds, changed := map[string]int{}, 0
			for _, obj := range objects {
				kinds[obj.GetKind()]++
				if obj.GetAnnotations()["example.com/edition"] == "2" {
					changed++
				}
				if obj.GetNamespace() != "demo" && obj.GetKind() != "CustomResourceDefinition" {
					t.Fatalf("%s is in the namespace %q", obj.GetName(), obj.GetNamespace())
				}
			}
			if len(objects) != tc.objects || len(kinds) != tc.kinds || changed != tc.changed {
				t.Errorf("%d objects of %v, %d of the second edition", len(objects), kinds, changed)
			}
			checkFiles(t, p, tc.files)
		})
	}
}

// checkFiles holds the files of a package against what a chart may consist of.
func checkFiles(t *testing.T, p *pack, number int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.chart(), "templates", "*.yaml"))
	if err != nil || len(files) != number {
		t.Errorf("%d files in the chart, want %d: %v", len(files), number, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 5<<20 || bytes.Contains(text, []byte("{{")) {
			t.Errorf("%s is no template: %d bytes", filepath.Base(file), len(text))
		}
	}
}

func TestLargeFiles(t *testing.T) {
	p := &pack{home: "demo", namespaces: []string{"demo"}}
	for name, text := range large(p, 1, 1) {
		low, high := 350_000, 500_000 // the definition
		switch name {
		case "file.yaml":
			low, high = 4_000_000, 4_200_000
		case "large-000.yaml":
			low, high = 900_000, 920_000
		}
		if len(text) < low || len(text) > high {
			t.Errorf("%s has %d bytes", name, len(text))
		}
	}
}

func TestNamespacesTakeTurns(t *testing.T) {
	p, err := newPack(t.TempDir(), "home", spreadOver("home", 3))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.write(mixed, 7, 1); err != nil {
		t.Fatal(err)
	}
	objects, err := readObjects(p.objects())
	if err != nil {
		t.Fatal(err)
	}
	var namespaces []string
	for _, obj := range objects {
		namespaces = append(namespaces, obj.GetNamespace())
	}
	if got := strings.Join(namespaces, " "); got != "home-000 home-001 home-002 home-000 home-001 "+
		"home-002 home-000" {
		t.Errorf("namespaces: %s", got)
	}
}

func TestManyDefinitions(t *testing.T) {
	p, err := newPack(t.TempDir(), "home", []string{"home"})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.write(manyDefinitions, 3, 1); err != nil {
		t.Fatal(err)
	}
	objects, err := readObjects(p.objects())
	if err != nil || len(objects) != 3 || objects[2].GetName() != "foreigns.group002.example.com" {
		t.Errorf("%d definitions: %v, %v", len(objects), objects, err)
	}
}
