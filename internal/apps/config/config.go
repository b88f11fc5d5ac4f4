// Package config is the rule language of kapp: what is copied from live objects, which labels go where, where references
// stand, what is masked and left out of differences, who waits for whom, and when an object is ready.
//
// In go the Config documents of the input, out comes a Config, which answers questions about single objects. The built-in
// rules are a document like the others, default.yml, and come before them. The package knows no cluster and keeps nothing.
package config

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/apps/resource"
)

const (
	docVersion = "kapp.k14s.io/v1alpha1"
	docKind    = "Config"
	dataKey    = "config.yml" // of a ConfigMap that holds a Config
)

//go:embed default.yml
var defaults string

// Config is the rules of all documents, one after the other. The zero value has none. It is not changed once it is made, and
// may be asked by several at the same time.
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
	checks      []string          // to run before anything is changed
	builtIn     int               // how many of the rebase rules are built in
}

// DefaultText gives the built-in rules as a document.
func DefaultText() string { return defaults }

// Default gives the built-in rules.
func Default() *Config {
	c, obj := &Config{}, map[string]any{}
	err := yaml.Unmarshal([]byte(defaults), &obj)
	if err == nil {
		err = c.read(resource.Resource{Unstructured: &unstructured.Unstructured{Object: obj}}, "")
	}
	if err != nil {
		panic("the built-in rules: " + err.Error()) // they are part of the program, and a test reads them
	}
	c.builtIn = len(c.rebases.rules)
	return c
}

// HasOverlays reports whether any rebase rule beside the built-in ones is an overlay. It may look at all of a live object.
func (c *Config) HasOverlays() bool {
	return slices.ContainsFunc(c.rebases.rules[c.builtIn:], func(rule rebaseRule) bool { return rule.overlay != nil })
}

// Extract takes the Config documents out of the input, and gives the rest in its order, with the built-in rules followed by
// those of the documents. A ConfigMap that is labelled as a configuration counts as one and stays among the rest. version is
// that of kapp which a document may demand. An error names the document and what is wrong in it.
func Extract(all []resource.Resource, version string) (rest []resource.Resource, c *Config, err error) {
	c = Default()
	for _, r := range all {
		_, labelled := r.GetLabels()[resource.LabelConfig]
		switch {
		case r.GetAPIVersion() == docVersion:
			if err := c.read(r, version); err != nil {
				return nil, nil, fmt.Errorf("Parsing resource '%s' as kapp config: %w", resource.Describe(r.Unstructured), err)
			}
			continue
		case labelled:
			if err := c.readConfigMap(r, version); err != nil {
				return nil, nil, fmt.Errorf("Parsing resource '%s' labeled as kapp config: %w", resource.Describe(r.Unstructured), err)
			}
		}
		rest = append(rest, r)
	}
	return rest, c, nil
}

// read appends the rules of a document.
func (c *Config) read(doc resource.Resource, version string) error {
	if doc.GetAPIVersion() != docVersion {
		return fmt.Errorf("Expected kapp config to have apiVersion '%s', but was '%s'", docVersion, doc.GetAPIVersion())
	}
	if doc.GetKind() != docKind {
		return fmt.Errorf("Expected kapp config to have kind '%s', but was '%s'", docKind, doc.GetKind())
	}
	var r reader
	c.add(node{r: &r, value: doc.Object}, version)
	switch {
	case r.malformed != nil:
		return fmt.Errorf("Unmarshaling %s: %w", resource.Describe(doc.Unstructured), r.malformed.located(doc.Origin))
	case r.invalid != nil:
		return fmt.Errorf("Validating config: %w", r.invalid.located(doc.Origin))
	}
	return nil
}

// readConfigMap appends the rules of the document that a ConfigMap holds.
func (c *Config) readConfigMap(r resource.Resource, version string) error {
	if r.GetAPIVersion() != "v1" || r.GetKind() != "ConfigMap" {
		return errors.New("Expected kapp config to be within v1/ConfigMap but apiVersion or kind do not match")
	}
	data, _ := r.Object["data"].(map[string]any)
	held, ok := data[dataKey].(string)
	if !ok {
		return fmt.Errorf("Expected to find field 'data.\"%s\"', but did not", dataKey)
	}
	var obj map[string]any
	if err := yaml.Unmarshal([]byte(held), &obj); err != nil {
		return fmt.Errorf("Parsing kapp config as resource: %w", err)
	}
	return c.read(resource.Resource{Unstructured: &unstructured.Unstructured{Object: obj}, Origin: r.Origin}, version)
}

// located is the complaint as an error, with the file and document where kapp's words do not stand alone.
func (c *problem) located(origin string) error {
	text := c.text
	if origin != "" && !c.verbatim {
		text += " (" + origin + ")"
	}
	if c.tail != "" {
		text += "\n" + c.tail
	}
	return errors.New(text)
}

// PreflightChecks gives the checks that are asked for, in order. known tells whether there is such a check; it is an error to ask
// for one that does not exist, or for the same twice.
func (c *Config) PreflightChecks(known func(name string) bool) ([]string, error) {
	seen := map[string]bool{}
	for _, name := range c.checks {
		switch {
		case !known(name):
			return nil, fmt.Errorf("preflight configuration settings failed: unknown preflight check in configuration: %q", name)
		case seen[name]:
			return nil, fmt.Errorf("preflight configuration settings failed: duplicate preflight check in configuration: %q", name)
		}
		seen[name] = true
	}
	return c.checks, nil
}
