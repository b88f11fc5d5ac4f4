package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/cluster"
)

// hidden is where an app may have objects that the user cannot see, by what its record says of it.
type hidden struct {
	kinds  []hiddenKind // that may be listed nowhere
	places []string     // in which none of the namespaced kinds of the app may be listed, although some may elsewhere
}

// hiddenKind is a kind of which nothing can be seen.
type hiddenKind struct {
	schema.GroupResource
	namespaces []string // those that were tried; none for a kind without namespaces
}

// hides finds out what of an app the user cannot see, from what a search for its objects has missed. Of a kind that may be listed in
// some namespaces and not in others nothing is said: its objects need not be in all of those of the app.
func (s *session) hides(ctx context.Context, target *app.App, missed map[schema.GroupKind]cluster.UnlistedKind) (hidden, error) {
	var h hidden
	if target.Labelled() || target.Meta.UsedGKs == nil || len(missed) == 0 {
		return h, nil
	}
	var partly []cluster.UnlistedKind // the namespaced kinds of which something can be seen
	for _, gk := range *target.Meta.UsedGKs {
		kind, err := s.client.Kind(ctx, gk)
		if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) {
			continue // its objects went with it, or the user was told that it cannot be described
		} else if err != nil {
			return h, err
		}
		switch m := missed[gk]; {
		case m.Forbidden:
			h.kinds = append(h.kinds, hiddenKind{kind.Resource.GroupResource(), m.Namespaces})
		case kind.Namespaced:
			partly = append(partly, m)
		}
	}
	for _, place := range target.Meta.LastChange.Namespaces {
		seen := func(m cluster.UnlistedKind) bool { return !slices.Contains(m.Namespaces, place) }
		if len(partly) > 0 && !slices.ContainsFunc(partly, seen) {
			h.places = append(h.places, place)
		}
	}
	return h, nil
}

// namespaces are those in which there may be objects that cannot be seen, of some that the record names.
func (h hidden) namespaces(recorded []string) []string {
	return slices.DeleteFunc(slices.Clone(recorded), func(place string) bool {
		within := func(k hiddenKind) bool {
			return slices.Contains(k.namespaces, place) || place == clusterPlace && k.namespaces == nil
		}
		return !slices.Contains(h.places, place) && !slices.ContainsFunc(h.kinds, within)
	})
}

// any reports whether there may be objects that cannot be seen.
func (h hidden) any() bool { return len(h.kinds)+len(h.places) > 0 }

// lines name what the user may not do.
func (h hidden) lines() []string {
	var lines []string
	for _, kind := range h.kinds {
		line := "list " + kind.String()
		if len(kind.namespaces) > 0 {
			line += " in namespaces: " + strings.Join(kind.namespaces, ", ")
		}
		lines = append(lines, line)
	}
	for _, place := range h.places {
		lines = append(lines, "list anything of the app in namespace: "+place)
	}
	return lines
}

// forgetFlag is the flag that has an app deleted whatever cannot be seen of it.
const forgetFlag = "dangerous-forget-unlisted-resources"

// keeps is the error of an app that is not deleted, since objects of it may be left that nothing would find any more.
func (h hidden) keeps(target *app.App) error {
	return fmt.Errorf("Refusing to delete app '%s' (namespace: %s): Resources of it may be left that nothing would find any more. Missing permissions:\n- %s\n"+
		"(hint: have somebody with these permissions delete it; a filter, as --filter-kind, deletes some resources and keeps the app; "+
		"delete --%s deletes what can be seen and the app)",
		target.Name, target.Namespace, strings.Join(h.lines(), "\n- "), forgetFlag)
}
