package kustomize

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/yaml"
)

// checker looks through a kustomization, and through those that it names, for what cannot be used here.
type checker struct {
	root string
	seen map[string]bool // files that were looked through
	errs []error
}

// check refuses a kustomization that would fetch something or run a tool, and names what it lacks.
func check(dir string) error {
	c := &checker{root: dir, seen: map[string]bool{}}
	c.folder(dir)
	return errors.Join(c.errs...)
}

// Fields of a kustomization by what they name.
var (
	// entries are files with objects, or folders with a kustomization.
	entries = []string{"resources", "bases", "components"}
	// configs are the same, or the text of an object itself; the objects say in turn which files they want.
	configs = []string{"generators", "transformers", "validators"}
	// tools are run by kustomize only when it is told to.
	tools = []string{"helmCharts", "helmChartInflationGenerator"}
	// files are fields that name files, wherever they stand; those of generators may begin with a key and "=".
	files = []string{"path", "paths", "files", "env", "envs", "crds", "configurations", "patches", "patchesStrategicMerge"}
)

// folder looks through the kustomization of a folder. A folder without one is an error that the build words well enough.
func (c *checker) folder(dir string) {
	name := File(dir)
	if name == "" {
		return
	}
	path := filepath.Join(dir, name)
	fields := map[string]any{}
	if !c.read(path, &fields) {
		return
	}
	for _, key := range entries {
		for _, entry := range texts(fields[key]) {
			c.entry(path, key, entry)
		}
	}
	for _, key := range configs {
		for _, entry := range texts(fields[key]) {
			c.config(path, key, entry)
		}
	}
	for _, key := range tools {
		if fields[key] != nil {
			c.fail(path, "%s needs a tool that is not run here; render the chart into a file and name that in resources", key)
		}
	}
	c.fetched(path, fields)
}

// read reads a YAML file once and reports whether there is anything to look through. That a file is broken is told here;
// the build would do it with a stack of its own doings.
func (c *checker) read(path string, into any) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	if c.seen[real] {
		return false
	}
	c.seen[real] = true
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		c.fail(path, "%s", strings.TrimPrefix(err.Error(), "error converting YAML to JSON: yaml: "))
	}
	return err == nil
}

// entry checks that a file or a folder is there, and looks through the folder.
func (c *checker) entry(path, key, entry string) {
	if isRemote(entry) {
		c.remote(path, key, entry)
		return
	}
	target := entry
	if !filepath.IsAbs(entry) {
		target = filepath.Join(filepath.Dir(path), entry)
	}
	info, err := os.Stat(target)
	switch {
	case err != nil:
		c.fail(path, "%s names %q, which does not exist", key, entry)
	case info.IsDir():
		c.folder(target)
	default:
		c.file(target)
	}
}

// config checks a configuration of a transformer or generator: a file, a folder, or the object itself.
func (c *checker) config(path, key, entry string) {
	var inline map[string]any
	if err := yaml.Unmarshal([]byte(entry), &inline); err == nil {
		c.fetched(path, inline)
		return
	}
	c.entry(path, key, entry)
}

// file looks through the objects of a file that configure transformers or generators. What is broken is told by the build.
func (c *checker) file(path string) {
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte(konfig.BuiltinPluginApiVersion)) {
		return
	}
	for document := range bytes.SplitSeq(text, []byte("\n---")) {
		var fields map[string]any
		if yaml.Unmarshal(document, &fields) == nil && fields["apiVersion"] == konfig.BuiltinPluginApiVersion {
			c.fetched(path, fields)
		}
	}
}

// fetched refuses the fields, at any depth, that name files elsewhere.
func (c *checker) fetched(path string, value any) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			c.fetched(path, element)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			element := v[key]
			if !slices.Contains(files, key) {
				c.fetched(path, element)
				continue
			}
			for _, entry := range texts(element) {
				_, file, keyed := strings.Cut(entry, "=")
				if isFetched(entry) || keyed && isFetched(file) {
					c.remote(path, key, entry)
				}
			}
			c.fetched(path, element)
		}
	}
}

func (c *checker) remote(path, key, entry string) {
	c.fail(path, "%s names %q, and nothing is fetched from elsewhere; keep a copy in the package", key, entry)
}

func (c *checker) fail(path, format string, args ...any) {
	if rel, err := filepath.Rel(c.root, path); err == nil {
		path = filepath.ToSlash(rel)
	}
	if err := fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)); !c.has(err) {
		c.errs = append(c.errs, err)
	}
}

func (c *checker) has(err error) bool {
	return slices.ContainsFunc(c.errs, func(other error) bool { return other.Error() == err.Error() })
}

// repository is how an address of a repository begins in kustomize's grammar. It is asked before the file system is, so a
// folder of such a name has to be written with ./ in front.
var repository = regexp.MustCompile(`(?i)^(git::|ssh://|https?://|file://|github\.com[/:]|[a-z][a-z0-9-]*@)`)

func isRemote(entry string) bool { return repository.MatchString(entry) || isFetched(entry) }

// isFetched reports whether a file would be fetched from a web server.
func isFetched(entry string) bool {
	u, err := url.Parse(entry)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}

// texts gives the strings of a field that holds one or several; other values are none.
func texts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, element := range v {
			if text, ok := element.(string); ok {
				all = append(all, text)
			}
		}
		return all
	}
	return nil
}
