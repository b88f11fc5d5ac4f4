package apps

import (
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/cluster"
)

// unlistable is the part of an app that the user may not list, by the kinds and namespaces that the
// record names.
type unlistable struct {
	kinds      []unlistableKind // kinds that the user may list nowhere
	namespaces []string         // namespaces in which the user may list no kind of the app
}

// unlistableKind is a kind that the user may list nowhere.
type unlistableKind struct {
	schema.GroupResource
	namespaced bool
	namespaces []string // those that were tried besides all at once
}

// unlistableOf returns the part of an app that a search for its objects could not list. A kind
// that may be listed in some namespaces counts as listable, since its objects need not be in all
// of them.
func (c *Client) unlistableOf(
	ctx context.Context, target *app.App, missed map[schema.GroupKind]cluster.UnlistedKind,
) (unlistable, error) {
	var u unlistable
	if target.IsLabelled() || target.Meta.UsedGKs == nil || len(missed) == 0 {
		return u, nil
	}
	var listed []cluster.UnlistedKind // the namespaced kinds that may be listed somewhere
	for _, gk := range *target.Meta.UsedGKs {
		kind, err := c.Cluster.Kind(ctx, gk)
		if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) {
			continue // its objects are gone, or the search reported that the group is broken
		} else if err != nil {
			return u, err
		}
		switch m := missed[gk]; {
		case m.Forbidden:
			resource := kind.Resource.GroupResource()
			u.kinds = append(u.kinds, unlistableKind{resource, kind.Namespaced, m.Namespaces})
		case kind.Namespaced:
			listed = append(listed, m)
		}
	}
	for _, namespace := range target.Meta.LastDeployment.Namespaces {
		visible := func(m cluster.UnlistedKind) bool {
			return !slices.Contains(m.Namespaces,
				namespace)
		}
		if len(listed) > 0 && !slices.ContainsFunc(listed, visible) {
			u.namespaces = append(u.namespaces, namespace)
		}
	}
	return u, nil
}

// within returns those of the recorded namespaces that may hold unlistable objects.
func (u unlistable) within(recorded []string) []string {
	return slices.DeleteFunc(slices.Clone(recorded), func(namespace string) bool {
		in := func(k unlistableKind) bool {
			if !k.namespaced || namespace == clusterScope {
				return !k.namespaced && namespace == clusterScope
			}
			return len(k.namespaces) == 0 || slices.Contains(k.namespaces, namespace)
		}
		return !slices.Contains(u.namespaces, namespace) && !slices.ContainsFunc(u.kinds, in)
	})
}

// any reports whether there may be unlistable objects.
func (u unlistable) any() bool { return len(u.kinds)+len(u.namespaces) > 0 }

// permissions returns the permissions that the user lacks, one a line.
func (u unlistable) permissions() []string {
	var lines []string
	for _, kind := range u.kinds {
		line := "list " + kind.String()
		switch {
		case len(kind.namespaces) > 0:
			line += " in namespaces: " + strings.Join(kind.namespaces, ", ")
		case kind.namespaced:
			line += " in all namespaces"
		}
		lines = append(lines, line)
	}
	for _, namespace := range u.namespaces {
		lines = append(lines, "list anything of the app in namespace: "+namespace)
	}
	return lines
}

// ForgetFlag is the name of the flag that deletes an app in spite of unlistable objects.
const ForgetFlag = "dangerous-forget-unlisted-resources"

// refuseDelete returns the error for an app whose objects cannot all be listed.
func (u unlistable) refuseDelete(target *app.App) error {
	return &UnlistableError{Permissions: u.permissions(), app: target}
}
