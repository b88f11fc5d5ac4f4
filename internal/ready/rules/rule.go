package rules

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/boundedcel"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
)

// rule is one rule of a file. Expressions that the file omits are nil.
type rule struct {
	file             string
	number           int // among the rules of the file, from 1
	group            string
	kinds            []string
	ignoreGeneration bool

	failed, current, inProgress *expression // return a bool
	message, reason             *expression // return a string
}

// judge returns the status of an object.
type judge = func(obj *unstructured.Unstructured) ready.Status

// compile compiles all expressions and returns all mistakes in them.
func (r *rule) compile(env *boundedcel.Env) error {
	var errs []error
	for _, e := range []*expression{r.failed, r.current, r.inProgress, r.message, r.reason} {
		if e == nil {
			continue
		}
		want := cel.BoolType
		if e == r.message || e == r.reason {
			want = cel.StringType
		}
		if err := e.compile(env, want); err != nil {
			errs = append(errs, r.locate(e.line, err)...)
		}
	}
	return errors.Join(errs...)
}

// locate prefixes each error that is joined in err with the place of the rule.
func (r *rule) locate(line int, err error) []error {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for i := range all {
		all[i] = fmt.Errorf("%s:%d: rule %d%s: %w", r.file, line, r.number, r.types(), all[i])
	}
	return all
}

// types formats the types of the rule, as far as they have been parsed.
func (r *rule) types() string {
	if len(r.kinds) == 0 {
		return ""
	}
	types := strings.Join(r.kinds, ",")
	if r.group != "" {
		types += "." + r.group
	}
	return " (" + types + ")"
}

// forKinds returns one rule for each kind.
func (r *rule) forKinds(judge judge) []ready.Rule {
	var rules []ready.Rule
	for _, kind := range r.kinds {
		gk := schema.GroupKind{Group: r.group, Kind: kind}
		rules = append(rules, ready.Rule{GroupKind: gk, Judge: judge})
	}
	return rules
}

// judge evaluates failed, current and inProgress, in this order; the comment of Parse says what
// follows from the results.
func (r *rule) judge(obj *unstructured.Unstructured) ready.Status {
	if !r.ignoreGeneration {
		if s := ready.ByGeneration(obj); s.State != "" {
			return s
		}
	}
	var problems []string
	for _, condition := range [...]struct {
		*expression
		state ready.State
	}{{r.failed, ready.Failed}, {r.current, ready.Current}, {r.inProgress, ready.InProgress}} {
		if condition.expression == nil {
			continue
		}
		holds, err := condition.evalBool(obj.Object)
		if holds {
			return r.status(condition.state, obj, nil)
		}
		if err != nil && condition.state != ready.Failed {
			problems = append(problems, err.Error())
		}
	}
	if len(problems) > 0 || r.current != nil && r.inProgress == nil {
		return r.status(ready.InProgress, obj, problems)
	}
	return ready.Status{}
}

// status returns a state with the rule's own reason and message, or with a default message.
func (r *rule) status(
	state ready.State, obj *unstructured.Unstructured, problems []string,
) ready.Status {
	s := ready.Status{
		State:   state,
		Reason:  object.HideValues(obj, r.reason.evalString(obj.Object)),
		Message: object.HideValues(obj, r.message.evalString(obj.Object)),
	}
	if s.Message != "" {
		return s
	}
	switch {
	case state == ready.Current:
		s.Message = "Resource is current"
	case state == ready.Failed:
		s.Message = "Resource has failed"
	case !ready.HasStatus(obj):
		s.Message = "Resource is in progress, it has no status yet"
	case len(problems) > 0:
		s.Message = "Resource is in progress, its rule cannot be evaluated: " +
			object.HideValues(obj, strings.Join(problems, "; "))
	default:
		s.Message = "Resource is in progress"
	}
	return s
}
