package rules

import (
	"embed"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/ready"
)

//go:embed operators/*.yaml
var operators embed.FS

// Builtin returns the rules for the custom resources of well-known operators. They follow the
// public API documents of the operators and are written as for Parse, one file for each operator.
// Parsing them takes about a millisecond. The expressions of a rule are compiled on first use. The
// rules may be used concurrently.
func Builtin() ([]ready.Rule, error) {
	entries, err := operators.ReadDir("operators")
	if err != nil {
		return nil, fmt.Errorf("read the rules for operators: %w", err)
	}
	var rules []ready.Rule
	env := sync.OnceValues(newEnv)
	for _, entry := range entries {
		data, err := operators.ReadFile("operators/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read the rules for operators: %w", err)
		}
		parsed, err := parseFile(entry.Name(), data)
		if err != nil {
			return nil, fmt.Errorf("read the rules for operators: %w", err)
		}
		for _, r := range parsed {
			compile := sync.OnceValue(func() error {
				env, err := env()
				if err != nil {
					return err
				}
				return r.compile(env)
			})
			rules = append(rules, r.forKinds(r.judgeAfter(compile))...)
		}
	}
	return rules, nil
}

// judgeAfter returns the rule's judge, which compiles the rule first. Tests compile all embedded
// rules, so that no user sees the error.
func (r *rule) judgeAfter(compile func() error) judge {
	return func(obj *unstructured.Unstructured) ready.Status {
		if err := compile(); err != nil {
			return ready.Status{State: ready.Unknown, Message: err.Error()}
		}
		return r.judge(obj)
	}
}
