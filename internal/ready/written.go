package ready

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// written is a rule as it stands in a file. Its expressions are nil where there are none.
type written struct {
	file             string
	number           int // among the rules of the file, from 1
	group            string
	kinds            []string
	ignoreGeneration bool

	failed, current, inProgress *expression // give a bool
	message, reason             *expression // give a string
}

// compile makes all expressions ready, and tells all that is wrong in them.
func (w *written) compile(env *cel.Env) error {
	var errs []error
	for _, e := range []*expression{w.failed, w.current, w.inProgress, w.message, w.reason} {
		if e == nil {
			continue
		}
		want := cel.BoolType
		if e == w.message || e == w.reason {
			want = cel.StringType
		}
		if err := e.compile(env, want); err != nil {
			errs = append(errs, w.locate(e.line, err)...)
		}
	}
	return errors.Join(errs...)
}

// locate puts the rule's place before each of the errors that were found in one line of it.
func (w *written) locate(line int, err error) []error {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for i := range all {
		all[i] = fmt.Errorf("%s:%d: rule %d%s: %w", w.file, line, w.number, w.name(), all[i])
	}
	return all
}

// name gives the types that the rule is for, as far as they are known.
func (w *written) name() string {
	if len(w.kinds) == 0 {
		return ""
	}
	name := strings.Join(w.kinds, ",")
	if w.group != "" {
		name += "." + w.group
	}
	return " (" + name + ")"
}

// rules gives one rule for each kind, judged by the same expressions.
func (w *written) rules(judge judge) []Rule {
	var rules []Rule
	for _, kind := range w.kinds {
		rules = append(rules, Rule{schema.GroupKind{Group: w.group, Kind: kind}, judge})
	}
	return rules
}

// judge asks failed, current and inProgress, in this order; Parse says what follows from it.
func (w *written) judge(obj *unstructured.Unstructured) Status {
	if !w.ignoreGeneration {
		if s := byGeneration(obj); s.State != "" {
			return s
		}
	}
	var troubles []string
	for _, question := range [...]struct {
		*expression
		state State
	}{{w.failed, Failed}, {w.current, Current}, {w.inProgress, InProgress}} {
		if question.expression == nil {
			continue
		}
		held, err := question.holds(obj.Object)
		if held {
			return w.answer(question.state, obj, nil)
		}
		if err != nil && question.state != Failed {
			troubles = append(troubles, err.Error())
		}
	}
	if len(troubles) > 0 || w.current != nil && w.inProgress == nil {
		return w.answer(InProgress, obj, troubles)
	}
	return Status{}
}

// answer puts the rule's own words to a state, or plain ones where it has none.
func (w *written) answer(state State, obj *unstructured.Unstructured, troubles []string) Status {
	s := Status{State: state, Reason: w.reason.says(obj.Object), Message: w.message.says(obj.Object)}
	if s.Message != "" {
		return s
	}
	switch {
	case state == Current:
		s.Message = "Resource is current"
	case state == Failed:
		s.Message = "Resource has failed"
	case silent(obj):
		s.Message = "Resource is in progress, it has no status yet"
	case len(troubles) > 0:
		s.Message = "Resource is in progress, its rule cannot tell: " + strings.Join(troubles, "; ")
	default:
		s.Message = "Resource is in progress"
	}
	return s
}
