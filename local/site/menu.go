package main

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A group is a part of the menu.
type group struct {
	Title string
	Pages []*page
}

// menu lists the pages in the order in which they are read. A folder stands for all of its pages
// that are not listed.
var menu = []struct {
	title string
	files []string
}{
	{"Start", []string{"README.md", "docs/tutorial.md", "docs/examples.md", "docs/concepts.md",
		"docs/comparison.md"}},
	{"Guides", []string{"docs/guides/packages.md", "docs/guides/apps.md", "docs/guides/readiness.md",
		"docs/guides/ordering.md", "docs/guides/ci.md", "docs/guides/going-back.md", "docs/guides"}},
	{"Help", []string{"docs/troubleshooting.md", "docs/errors.md", "docs/exit-codes.md"}},
	{"Reference", []string{"docs/features.md", "docs/packages.md", "docs/apps.md",
		"docs/commands.md", "docs/artifacts.md", "docs/inspecting.md", "docs/history.md",
		"docs/drift.md", "docs/output.md",
		"docs/locks.md", "docs/controller.md", "docs/ytt.md", "docs/compat-kpt.md",
		"docs/compat-kapp.md"}},
	{"Command reference", []string{"docs/reference"}},
	{"How it works", []string{"docs/architecture.md", "docs/performance.md", "docs/reliability.md",
		"docs/threat-model.md", "docs/servers.md", "docs/dependencies.md", "docs/local.md",
		"CONTRIBUTING.md", "SECURITY.md", "docs"}},
	{"Decisions", []string{"docs/decisions"}},
}

// findPages returns the pages of the repository by the groups of the menu.
func findPages(root string) ([]group, error) {
	var files []string
	err := filepath.WalkDir(filepath.Join(root, "docs"),
		func(name string, entry fs.DirEntry, err error) error {
			if err == nil && path.Ext(name) == ".md" {
				relative, _ := filepath.Rel(root, name)
				files = append(files, filepath.ToSlash(relative))
			}
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("find the pages: %w", err)
	}
	files = append(files, "README.md", "CONTRIBUTING.md", "SECURITY.md")
	slices.Sort(files)
	listed := map[string]bool{}
	for _, part := range menu {
		for _, file := range part.files {
			listed[file] = true
		}
	}
	var groups []group
	for _, part := range menu {
		group := group{Title: part.title}
		for _, entry := range part.files {
			for _, file := range files {
				inFolder := path.Ext(entry) == "" && path.Dir(file) == entry && !listed[file]
				if file == entry || inFolder {
					group.Pages = append(group.Pages, &page{File: file, Path: htmlPath(file)})
				}
			}
		}
		if len(group.Pages) > 0 {
			groups = append(groups, group)
		}
	}
	return groups, nil
}

// htmlPath returns the path in the site of a page of the repository.
func htmlPath(file string) string {
	if file == "README.md" {
		return "index.html"
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(file, "docs/"), ".md")) + ".html"
}
