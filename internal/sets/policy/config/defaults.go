package config

import (
	_ "embed"
	"sync"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

//go:embed default.yml
var defaults string

// DefaultText returns the built-in rules as a document.
func DefaultText() string { return defaults }

// Default returns the built-in rules. They are parsed once.
var Default = sync.OnceValue(parseDefault)

func parseDefault() *Config {
	c, obj := &Config{}, map[string]any{}
	err := yaml.Unmarshal([]byte(defaults), &obj)
	if err == nil {
		err = c.read(resource.Resource{Unstructured: &unstructured.Unstructured{Object: obj}}, "")
	}
	if err != nil {
		panic("the built-in rules: " + err.Error()) // they are part of the program, and a test reads them
	}
	c.scripted, c.overlaid = nil, nil
	return c
}
