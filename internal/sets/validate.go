package sets

import (
	"context"
	"fmt"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// The modes of validation, as kubectl's flag --validate has them.
const (
	ValidateStrict = "strict"
	ValidateWarn   = "warn"
	ValidateIgnore = "ignore"
)

// Finding is what is wrong, or probably wrong, with a described object.
type Finding struct {
	Ref    object.Ref
	Source string // file and document
	Text   string
	// Field is the path of a field that the server does not know, or whose value has another type;
	// empty if the finding is about something else.
	Field string
	// Others are more objects of which the same is true.
	Others []object.Ref
}

// String returns the object, its place and the text.
func (f Finding) String() string {
	text := f.Text
	switch n := len(f.Others); n {
	case 0:
	case 1:
		text += " (1 more object is in it)"
	default:
		text += fmt.Sprintf(" (%d more objects are in it)", n)
	}
	if f.Source == "" {
		return fmt.Sprintf("%s: %s", f.Ref, text)
	}
	return fmt.Sprintf("%s (%s): %s", f.Ref, f.Source, text)
}

// Validation is what is wrong with the described objects of an operation, as far as that is known
// before anything is written.
type Validation struct {
	// Problems are namespaces that do not exist, unknown fields and values of wrong types, in the
	// order of the objects.
	Problems []Finding
	// Advice is what is probably wrong, but is no reason to refuse the set.
	Advice []Finding
	// Incomplete is why some fields could not be validated; nil if all were.
	Incomplete error
}

// ValidationError reports the problems of a set that is not written because of them.
type ValidationError struct{ Problems []Finding }

func (e *ValidationError) Error() string {
	return "nothing was changed, because the validation failed:" + e.List()
}

// maxListed limits how many problems are listed.
const maxListed = 50

// List returns the problems, each on a line of its own after a line break.
func (e *ValidationError) List() (text string) {
	for i, p := range e.Problems {
		if i == maxListed {
			return text + fmt.Sprintf("\n- and %d more", len(e.Problems)-maxListed)
		}
		text += "\n- " + p.String()
	}
	return text
}

// Refused returns the problem of each object that has one.
func (e *ValidationError) Refused() map[object.Ref]string {
	refused := map[object.Ref]string{}
	for _, p := range e.Problems {
		for _, ref := range append(p.Others, p.Ref) {
			if before := refused[ref]; before != "" {
				refused[ref] = before + "; " + p.Text
			} else {
				refused[ref] = p.Text
			}
		}
	}
	return refused
}

// Err returns the problems as an error; nil if there are none. Problems with the fields of a
// revision do not count: the server has accepted it before.
func (v *Validation) Err(isRevision bool) (*ValidationError, []Finding) {
	var counts, others []Finding
	for _, p := range v.Problems {
		if isRevision && p.Field != "" {
			others = append(others, p)
		} else {
			counts = append(counts, p)
		}
	}
	if len(counts) == 0 {
		return nil, others
	}
	return &ValidationError{counts}, others
}

// Validate returns what is wrong with the objects that an operation would create or update, in
// their order. The plan must be made. Locked reports whether the namespace of the record is known
// to exist.
//
// It sends no request if nothing would be created or updated. Else it reads the namespaces of which
// nothing is known, and the OpenAPI documents of the versions used, except for objects of built-in
// kinds on a server that is known to have all their fields. Only an object with a problem is sent
// to the server, in a dry run: what the server accepts has none. Kubectl returns a command of
// kubectl for the cluster; nil is for the current context.
func Validate(
	ctx context.Context, c cluster.Writer, op *Operation, locked bool,
	kubectl func(words ...string) string,
) (*Validation, error) {
	v := &Validation{}
	fields := &fieldCheck{cluster: c, op: op}
	if err := fields.find(ctx); err != nil {
		return nil, err
	}
	v.Incomplete = fields.incomplete
	missing, err := missingNamespaces(ctx, c, op, locked, kubectl)
	if err != nil {
		return nil, err
	}
	desired, groups := op.Described, op.work.UnknownGroups()
	scaled := plan.ReplicasBesideAutoscalers(desired)
	inMissing := map[string]int{}
	for _, d := range desired {
		ref := object.RefOf(d.Object)
		if text := missing[ref.Namespace]; text != "" && fields.writes[ref] == plan.Create {
			if i, ok := inMissing[ref.Namespace]; ok {
				v.Problems[i].Others = append(v.Problems[i].Others, ref)
			} else {
				inMissing[ref.Namespace] = len(v.Problems)
				v.Problems = append(v.Problems, Finding{Ref: ref, Source: d.Source, Text: text})
			}
		}
		v.Problems = append(v.Problems, fields.found[ref]...)
		advise := func(format string, args ...any) {
			v.Advice = append(v.Advice,
				Finding{Ref: ref, Source: d.Source, Text: fmt.Sprintf(format, args...)})
		}
		if by, ok := scaled[ref]; ok {
			advise("it sets replicas, which %s changes; leave them out", by.Short())
		}
		for _, group := range groups[ref] {
			advise("a change rule names the group %q, which no object has", group)
		}
	}
	home := op.Locked.Namespace
	if _, ok := inMissing[home]; !ok && missing[home] != "" {
		v.Problems = append(v.Problems, Finding{
			Ref:  object.Ref{Kind: plan.NamespaceKind.Kind, Name: home},
			Text: "it is the namespace of the record: " + missing[home],
		})
	}
	return v, nil
}
