package internal

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestContributing checks that the files and folders which CONTRIBUTING.md names exist.
func TestContributing(t *testing.T) {
	text, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:internal|local|docs|cmd)/[A-Za-z0-9/_.-]+)`").
		FindAllStringSubmatch(string(text), -1)
	if len(named) == 0 {
		t.Fatal("CONTRIBUTING.md names no files")
	}
	for _, match := range named {
		if _, err := os.Stat(filepath.Join("..", match[1])); err != nil {
			t.Error(err)
		}
	}
}
