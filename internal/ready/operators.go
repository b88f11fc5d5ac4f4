package ready

import (
	"embed"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

//go:embed operators/*.yaml
var operators embed.FS

// Operators gives rules for the custom resources of well-known operators, written in the language of Parse, one file for
// each operator. They say what the public API documents of the operators say; comments in the files tell where those
// leave room. Reading them takes about a millisecond. The expressions of a rule are compiled when it is first asked, so
// that nobody pays for operators that are not used. The rules may be used concurrently.
func Operators() ([]Rule, error) {
	entries, err := operators.ReadDir("operators")
	if err != nil {
		return nil, fmt.Errorf("read the rules for operators: %w", err)
	}
	var rules []Rule
	language := sync.OnceValues(newLanguage)
	for _, entry := range entries {
		data, err := operators.ReadFile("operators/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read the rules for operators: %w", err)
		}
		texts, err := read(entry.Name(), data)
		if err != nil {
			return nil, fmt.Errorf("read the rules for operators: %w", err)
		}
		for _, text := range texts {
			compile := sync.OnceValue(func() error {
				env, err := language()
				if err != nil {
					return err
				}
				return text.compile(env)
			})
			rules = append(rules, text.rules(text.judgeAfter(compile))...)
		}
	}
	return rules, nil
}

// judgeAfter is judge, once the rule has been compiled. Tests compile all embedded rules, so that no user sees the error.
func (w *written) judgeAfter(compile func() error) judge {
	return func(obj *unstructured.Unstructured) Status {
		if err := compile(); err != nil {
			return Status{State: Unknown, Message: err.Error()}
		}
		return w.judge(obj)
	}
}
