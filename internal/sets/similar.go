package sets

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/muster-deploy/muster/internal/base/suggest"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/packages"
)

// hintRecord adds to the error of a set without a record what could be meant: another namespace, if
// that of the set does not exist, or another set in it. What cannot be listed adds nothing.
func hintRecord(
	ctx context.Context, c cluster.Writer, kind, namespace, name string, err error,
) error {
	if !errors.As(err, new(*NoRecordError)) && !errors.As(err, new(*packages.NoRecordError)) {
		return err
	}
	if hint, missing := hintNamespace(ctx, c, namespace); missing {
		return fmt.Errorf("%w; the namespace does not exist%s", err, hint)
	}
	listed, _ := List(ctx, c, namespace)
	var names []string
	for _, l := range listed {
		if l.Kind == kind {
			names = append(names, l.Name)
		} else if l.Name == name {
			return fmt.Errorf("%w; the %s %s has this name", err, l.Kind, l.Name)
		}
	}
	if hint := suggest.Hint(name, names, ""); hint != "" {
		return fmt.Errorf("%w%s", err, hint)
	}
	return err
}

// Similar returns what could be meant by a set that has no record; empty if nothing is known.
func Similar(ctx context.Context, c cluster.Writer, set Set) string {
	namespace, name := set.Name()
	none := &NoRecordError{set.Title(), namespace}
	hinted := hintRecord(ctx, c, set.format().kind, namespace, name, none)
	hint := strings.TrimPrefix(hinted.Error(), none.Error())
	return strings.TrimLeft(hint, "; ")
}

// hintNamespace reports whether a namespace is known not to exist, and returns which one could be
// meant.
func hintNamespace(ctx context.Context, c cluster.Writer, name string) (hint string, missing bool) {
	ref := object.Ref{Kind: plan.NamespaceKind.Kind, Name: name}
	live, err := c.Read(ctx, []cluster.Target{{Ref: ref}})
	if err != nil || live.Objects[ref] != nil {
		return "", false
	}
	all, err := c.List(ctx, plan.NamespaceKind, "", nil)
	if err != nil {
		return "", true
	}
	names := make([]string, len(all))
	for i, obj := range all {
		names[i] = obj.GetName()
	}
	return suggest.Hint(name, names, ""), true
}
