package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSite builds the site, which fails if a link or an anchor leads nowhere, and checks that every
// page can be reached, has one first heading, and refers to nothing elsewhere.
func TestSite(t *testing.T) {
	out := t.TempDir()
	count, err := build("../..", out)
	if err != nil {
		t.Fatal(err)
	}
	if count < 30 {
		t.Errorf("the site has %d pages only", count)
	}
	index, err := os.ReadFile(filepath.Join(out, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	if pages := strings.Count(string(index), "<li><a href="); pages < count {
		t.Errorf("the menu has %d of %d pages", pages, count)
	}
	foreign := regexp.MustCompile(`<(script|iframe|img src="http|link [^>]*href="http)`)
	err = filepath.WalkDir(out, func(name string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".html" {
			return err
		}
		text, err := os.ReadFile(name)
		if n := strings.Count(string(text), "<h1"); n != 1 {
			t.Errorf("%s has %d first headings", name, n)
		}
		if found := foreign.Find(text); found != nil {
			t.Errorf("%s has %s", name, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestBrokenLinks checks that the error names each link that leads nowhere.
func TestBrokenLinks(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"README.md": "# A\n[one](docs/b.md#second-part) [two](docs/b.md#third) [three](missing.md)\n" +
			"![picture](missing.svg) [page](https://example.com) <!-- test: after x -->\n",
		"docs/b.md":           "# B\n## Second *part*\n[up](../README.md#a) [folder](decisions)\n",
		"docs/decisions/1.md": "# C\n",
		"CONTRIBUTING.md":     "# D\n",
		"SECURITY.md":         "# E\n",
	} {
		if err := write(filepath.Join(root, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := build(root, t.TempDir())
	want := `README.md: link docs/b.md#third: docs/b.md has no such heading
README.md: link missing.md: there is no file missing.md
README.md: link missing.svg: there is no file missing.svg`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// TestSession checks that the picture in the README is that of the recorded session.
func TestSession(t *testing.T) {
	want, err := drawSession("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("../..", sessionPicture))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not of %s; run make session", sessionPicture, sessionPage)
	}
}
