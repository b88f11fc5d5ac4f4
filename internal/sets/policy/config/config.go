// Package config reads kapp's rules: which fields are copied from live objects, which labels
// objects get, where references to other objects are, what is masked and excluded from
// differences, which changes wait for which, and when an object is ready.
//
// Its input is the Config documents among the manifests. Its output is a Config, which answers
// questions about single objects. The built-in rules are a document like the others, default.yml,
// and come first. The package has no state and no access to a cluster.
package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/base/yamlsize"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

const (
	// DocVersion is the apiVersion of Config documents.
	DocVersion = "kapp.k14s.io/v1alpha1"
	docKind    = "Config"
	dataKey    = "config.yml" // of a ConfigMap that holds a Config
)

// Config is the rules of all documents in order. The zero value has none. It does not change after
// Extract, and several goroutines may use it.
type Config struct {
	rebases     table[rebaseRule]
	waits       table[waitRule]
	owned       table[path]
	scoped      table[scope]
	templates   table[*table[reference]]
	notApplied  table[path]
	notCompared table[path]
	masked      table[path]
	groups      table[string]
	bindings    table[binding]
	labels      map[string]string // additional ones
	checks      []Check           // to run before anything is changed
	scripted    []string          // the documents of users with rules in ytt
	overlaid    []string          // the rules of users that are overlays
	own         *Config           // the rules of users alone; nil for none
}

// Check is a preflight check with its configuration, which may be nil.
type Check struct {
	Name   string
	Config map[string]any
}

// clone returns a copy to which rules can be added. It shares the present ones.
func (c *Config) clone() *Config {
	copied := *c
	copied.rebases = c.rebases.clone()
	copied.waits = c.waits.clone()
	copied.owned = c.owned.clone()
	copied.scoped = c.scoped.clone()
	copied.templates = c.templates.clone()
	copied.notApplied = c.notApplied.clone()
	copied.notCompared = c.notCompared.clone()
	copied.masked = c.masked.clone()
	copied.groups = c.groups.clone()
	copied.bindings = c.bindings.clone()
	copied.labels, copied.checks = maps.Clone(c.labels), slices.Clip(c.checks)
	return &copied
}

// Own returns the rules of the documents alone, without the built-in ones.
func (c *Config) Own() *Config {
	if c.own == nil {
		return &Config{}
	}
	return c.own
}

// HasOverlays reports whether a rebase rule besides the built-in ones is an overlay. An overlay
// may read all fields of a live object.
func (c *Config) HasOverlays() bool {
	return slices.ContainsFunc(c.Own().rebases.rules,
		func(rule rebaseRule) bool { return rule.overlay != nil })
}

// Scripts returns the documents of users that have rules in ytt, as messages name them. A script
// takes as much memory as it likes.
func (c *Config) Scripts() []string { return c.scripted }

// Overlays returns the rebase rules of users that are overlays in ytt, as messages name them: with
// their document.
func (c *Config) Overlays() []string { return c.overlaid }

// scripts returns how many rules are written in ytt.
func (c *Config) scripts() (n int) {
	for _, rule := range c.rebases.rules {
		if rule.overlay != nil {
			n++
		}
	}
	for _, rule := range c.waits.rules {
		if rule.script != nil {
			n++
		}
	}
	return n
}

// Extract splits the input into Config documents and the rest, which keeps its order. It returns
// the built-in rules followed by those of the documents. A ConfigMap with the label of a
// configuration is one of them and stays in the rest. version is the version of kapp that
// documents may require. Errors name the document.
func Extract(all []resource.Resource, version string) (
	rest []resource.Resource, c *Config, err error) {
	c = Default().clone() // documents add to it
	c.own = &Config{}
	for _, r := range all {
		_, labelled := r.GetLabels()[resource.LabelConfig]
		switch {
		case r.GetAPIVersion() == DocVersion:
			if err := c.read(r, version); err != nil {
				return nil, nil, fmt.Errorf("Parsing resource '%s' as kapp config: %w",
					resource.Describe(r.Unstructured), err)
			}
			continue
		case labelled:
			if err := c.readConfigMap(r, version); err != nil {
				return nil, nil, fmt.Errorf("Parsing resource '%s' labeled as kapp config: %w",
					resource.Describe(r.Unstructured), err)
			}
		}
		rest = append(rest, r)
	}
	return rest, c, nil
}

// read appends the rules of a document.
func (c *Config) read(doc resource.Resource, version string) error {
	if c.own != nil {
		if err := c.own.read(doc, version); err != nil {
			return err
		}
	}
	if doc.GetAPIVersion() != DocVersion {
		return fmt.Errorf("Expected kapp config to have apiVersion '%s', but was '%s'",
			DocVersion, doc.GetAPIVersion())
	}
	if doc.GetKind() != docKind {
		return fmt.Errorf("Expected kapp config to have kind '%s', but was '%s'", docKind, doc.GetKind())
	}
	var r reader
	before, overlaid := c.scripts(), len(c.overlaid)
	c.add(node{r: &r, value: doc.Object}, version)
	name := strings.TrimSpace(doc.Origin + " " + resource.Describe(doc.Unstructured))
	if c.scripts() > before {
		c.scripted = append(c.scripted, name)
	}
	for i := overlaid; i < len(c.overlaid); i++ {
		c.overlaid[i] = name + ": " + c.overlaid[i]
	}
	switch {
	case r.malformed != nil:
		return fmt.Errorf("Unmarshaling %s: %w", resource.Describe(doc.Unstructured),
			&DocumentError{r.malformed, doc.Origin})
	case r.invalid != nil:
		return fmt.Errorf("Validating config: %w", &DocumentError{r.invalid, doc.Origin})
	}
	return nil
}

// readConfigMap appends the rules of the document in a ConfigMap.
func (c *Config) readConfigMap(r resource.Resource, version string) error {
	if r.GetAPIVersion() != "v1" || r.GetKind() != "ConfigMap" {
		return errors.New(
			"Expected kapp config to be within v1/ConfigMap but apiVersion or kind do not match")
	}
	data, _ := r.Object["data"].(map[string]any)
	held, ok := data[dataKey].(string)
	if !ok {
		return fmt.Errorf("Expected to find field 'data.\"%s\"', but did not", dataKey)
	}
	if err := yamlsize.Check([]byte(held)); err != nil {
		return fmt.Errorf("Parsing kapp config as resource: %w", err)
	}
	var obj map[string]any
	if err := yaml.Unmarshal([]byte(held), &obj); err != nil {
		return fmt.Errorf("Parsing kapp config as resource: %w", err)
	}
	doc := &unstructured.Unstructured{Object: obj}
	return c.read(resource.Resource{Unstructured: doc, Origin: r.Origin}, version)
}

// DocumentError is the error of a Config document with a value that is not allowed.
type DocumentError struct {
	problem *problem
	origin  string // the file and the document; "" if they are not known
}

// Error returns the problem as kapp prints it, with the file and the document unless the text is
// kapp's.
func (e *DocumentError) Error() string {
	text := e.problem.text
	if e.origin != "" && !e.problem.verbatim {
		text += " (" + e.origin + ")"
	}
	if e.problem.tail != "" {
		text += "\n" + e.problem.tail
	}
	return text
}

// PlainText returns the whole error in the form of other errors in files.
func (e *DocumentError) PlainText() string {
	text := "Config: " + e.problem.text
	if e.origin != "" {
		text = e.origin + ": " + text
	}
	return text
}

// PreflightChecks returns the requested checks in order. It is an error if known returns false for
// a name, or if a name occurs twice.
func (c *Config) PreflightChecks(known func(name string) bool) ([]Check, error) {
	seen := map[string]bool{}
	for _, check := range c.checks {
		switch name := check.Name; {
		case !known(name):
			return nil, fmt.Errorf(
				"preflight configuration settings failed: unknown preflight check in configuration: %q", name)
		case seen[name]:
			return nil, fmt.Errorf(
				"preflight configuration settings failed: duplicate preflight check in configuration: %q", name)
		}
		seen[check.Name] = true
	}
	return c.checks, nil
}
