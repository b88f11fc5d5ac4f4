package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark/ast"
)

//go:embed page.html style.css
var files embed.FS

// repository is where links lead to what is no page of the site.
const repository = "https://github.com/muster-deploy/muster/blob/main/"

// A page is a file of Markdown.
type page struct {
	File  string // in the repository
	Path  string // in the site
	Title string

	source  []byte
	tree    ast.Node
	anchors map[string]bool
}

// A view is what the template of a page reads.
type view struct {
	Page       *page
	Root       string // the path to the first page
	Groups     []group
	Body       template.HTML
	Prev, Next *page
}

// build writes the site of the repository in root to the folder out, and returns the number of its
// pages. The errors name all links that lead nowhere.
func build(root, out string) (int, error) {
	groups, err := findPages(root)
	if err != nil {
		return 0, err
	}
	var pages []*page
	byFile := map[string]*page{}
	for _, group := range groups {
		for _, page := range group.Pages {
			if page.source, err = os.ReadFile(filepath.Join(root, page.File)); err != nil {
				return 0, err
			}
			page.parse()
			pages, byFile[page.File] = append(pages, page), page
		}
	}
	look := template.Must(template.New("page.html").Funcs(template.FuncMap{
		"link": func(from, to *page) string { return relative(from.Path, to.Path) },
	}).ParseFS(files, "page.html"))
	var problems []error
	for i, page := range pages {
		links := linker{root: root, out: out, pages: byFile, page: page}
		problems = append(problems, links.rewrite())
		v := view{Page: page, Groups: groups, Root: relative(page.Path, "")}
		if i > 0 {
			v.Prev = pages[i-1]
		}
		if i+1 < len(pages) {
			v.Next = pages[i+1]
		}
		if err := v.write(look, out); err != nil {
			return 0, err
		}
	}
	style, err := files.ReadFile("style.css")
	if err == nil {
		err = write(filepath.Join(out, "style.css"), style)
	}
	return len(pages), errors.Join(append(problems, err)...)
}

func (v *view) write(look *template.Template, out string) error {
	var body, text bytes.Buffer
	if err := markdown.Renderer().Render(&body, v.Page.source, v.Page.tree); err != nil {
		return fmt.Errorf("%s: %w", v.Page.File, err)
	}
	v.Body = template.HTML(body.String()) // the renderer has escaped it, and passes no HTML on
	if err := look.Execute(&text, v); err != nil {
		return fmt.Errorf("%s: %w", v.Page.File, err)
	}
	return write(filepath.Join(out, v.Page.Path), text.Bytes())
}

// write writes a file, and its folder.
func write(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}

// relative returns the link from one path of the site to another.
func relative(from, to string) string {
	return strings.Repeat("../", strings.Count(from, "/")) + to
}

// A linker replaces the links of a page by links of the site.
type linker struct {
	root, out string
	pages     map[string]*page
	page      *page
}

// rewrite replaces all links. The error names those that lead nowhere.
func (l linker) rewrite() error {
	var problems []error
	_ = ast.Walk(l.page.tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		var err error
		switch node := node.(type) {
		case *ast.Link:
			node.Destination, err = l.target(node.Destination)
		case *ast.Image:
			node.Destination, err = l.target(node.Destination)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", l.page.File, err))
		}
		return ast.WalkContinue, nil
	})
	return errors.Join(problems...)
}

// target returns where a link of the page leads in the site. Pictures are copied.
func (l linker) target(link []byte) ([]byte, error) {
	parsed, err := url.Parse(string(link))
	if err != nil || parsed.Scheme != "" {
		return link, err
	}
	file := l.page.File
	if parsed.Path != "" {
		file = path.Join(path.Dir(file), parsed.Path)
	}
	if page, ok := l.pages[file]; ok {
		if parsed.Fragment != "" && !page.anchors[parsed.Fragment] {
			return link, fmt.Errorf("link %s: %s has no such heading", link, page.File)
		}
		parsed.Path = relative(l.page.Path, page.Path)
		return []byte(parsed.String()), nil
	}
	source := filepath.Join(l.root, file)
	if _, err := os.Stat(source); err != nil || strings.HasPrefix(file, "..") {
		return link, fmt.Errorf("link %s: there is no file %s", link, file)
	}
	if path.Ext(file) != ".svg" {
		return []byte(repository + file), nil
	}
	picture, err := os.ReadFile(source)
	if err != nil {
		return link, err
	}
	name := strings.TrimPrefix(file, "docs/")
	return []byte(relative(l.page.Path, name)), write(filepath.Join(l.out, name), picture)
}
