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

	"github.com/muster-deploy/muster/internal/boundedio"
	"github.com/muster-deploy/muster/internal/plaintext"
)

// checker searches a kustomization, and those that it names, for references that are not supported.
type checker struct {
	root string
	seen map[string]bool // checked files
	errs []error
}

// check rejects a kustomization that would fetch a resource or run a tool, or that names missing
// files.
func check(dir string) error {
	c := &checker{root: dir, seen: map[string]bool{}}
	c.checkFolder(dir)
	return errors.Join(c.errs...)
}

// Fields of a kustomization by what they name.
var (
	// resourceFields name files with objects, or folders with a kustomization.
	resourceFields = []string{"resources", "bases", "components"}
	// pluginFields name the same, or hold an object; the objects name files in turn.
	pluginFields = []string{"generators", "transformers", "validators"}
	// helmFields need programs that kustomize runs only on request.
	helmFields = []string{"helmCharts", "helmChartInflationGenerator"}
	// fileFields are fields that name files, at any depth. In generators an entry may begin with a key
	// and "=".
	fileFields = []string{"path", "paths", "files", "env", "envs", "crds", "configurations", "patches",
		"patchesStrategicMerge"}
)

// checkFolder checks the kustomization of a folder. The build reports a missing one.
func (c *checker) checkFolder(dir string) {
	name := File(dir)
	if name == "" {
		return
	}
	path := filepath.Join(dir, name)
	fields := map[string]any{}
	if !c.read(path, &fields) {
		return
	}
	for _, key := range resourceFields {
		for _, entry := range stringsOf(fields[key]) {
			c.checkEntry(path, key, entry)
		}
	}
	for _, key := range pluginFields {
		for _, entry := range stringsOf(fields[key]) {
			c.checkConfig(path, key, entry)
		}
	}
	for _, key := range helmFields {
		if fields[key] != nil {
			c.fail(path, "%s needs a tool that is not run here; "+
				"render the chart into a file and name that in resources", key)
		}
	}
	c.checkRemoteFields(path, fields)
}

// read parses a YAML file once and reports whether to check it. It reports a broken file itself:
// the build's message would have a long chain of causes.
func (c *checker) read(path string, into any) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	if c.seen[real] {
		return false
	}
	c.seen[real] = true
	text, err := boundedio.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		text := plaintext.HideYAML(err).Error()
		c.fail(path, "%s", strings.TrimPrefix(text, "error converting YAML to JSON: yaml: "))
	}
	return err == nil
}

// checkEntry checks that a file or folder exists, and checks the folder.
func (c *checker) checkEntry(path, key, entry string) {
	if isRemote(entry) {
		c.failRemote(path, key, entry)
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
		c.checkFolder(target)
	default:
		if err := boundedio.CheckMode(entry, info.Mode()); err != nil {
			c.fail(path, "%s names %q: %s", key, entry, errors.Unwrap(err))
			return
		}
		c.checkFile(target)
	}
}

// checkConfig checks a configuration of a transformer or generator: a file, a folder, or the object
// itself.
func (c *checker) checkConfig(path, key, entry string) {
	var inline map[string]any
	if err := yaml.Unmarshal([]byte(entry), &inline); err == nil {
		c.checkRemoteFields(path, inline)
		return
	}
	c.checkEntry(path, key, entry)
}

// checkFile checks the objects of a file that configure transformers or generators. The build
// reports broken files.
func (c *checker) checkFile(path string) {
	text, err := boundedio.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte(konfig.BuiltinPluginApiVersion)) {
		return
	}
	for document := range bytes.SplitSeq(text, []byte("\n---")) {
		var fields map[string]any
		if yaml.Unmarshal(document, &fields) == nil &&
			fields["apiVersion"] == konfig.BuiltinPluginApiVersion {
			c.checkRemoteFields(path, fields)
		}
	}
}

// checkRemoteFields rejects fields, at any depth, that name files elsewhere.
func (c *checker) checkRemoteFields(path string, value any) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			c.checkRemoteFields(path, element)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			element := v[key]
			if !slices.Contains(fileFields, key) {
				c.checkRemoteFields(path, element)
				continue
			}
			for _, entry := range stringsOf(element) {
				_, file, keyed := strings.Cut(entry, "=")
				if isHTTP(entry) || keyed && isHTTP(file) {
					c.failRemote(path, key, entry)
				}
			}
			c.checkRemoteFields(path, element)
		}
	}
}

func (c *checker) failRemote(path, key, entry string) {
	c.fail(path, "%s names %q, and nothing is fetched from elsewhere; keep a copy in the package",
		key, entry)
}

func (c *checker) fail(path, format string, args ...any) {
	if rel, err := filepath.Rel(c.root, path); err == nil {
		path = filepath.ToSlash(rel)
	}
	if err := fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)); !c.hasError(err) {
		c.errs = append(c.errs, err)
	}
}

func (c *checker) hasError(err error) bool {
	return slices.ContainsFunc(c.errs, func(other error) bool { return other.Error() == err.Error() })
}

// repository matches the beginning of a repository's address in kustomize's grammar. It takes
// precedence over the file system, so a folder of such a name needs ./ in front.
var repository = regexp.MustCompile(
	`(?i)^(git::|ssh://|https?://|file://|github\.com[/:]|[a-z][a-z0-9-]*@)`)

func isRemote(entry string) bool { return repository.MatchString(entry) || isHTTP(entry) }

// isHTTP reports whether a file would be fetched from a web server.
func isHTTP(entry string) bool {
	u, err := url.Parse(entry)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}

// stringsOf returns the strings of a field that holds one or several, and ignores other values.
func stringsOf(value any) []string {
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
