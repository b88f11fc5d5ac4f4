package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
)

// unlistable is the part of an app that cannot be listed, by the kinds and namespaces that the
// record names.
type unlistable struct {
	kinds      []unlistableKind // kinds that the user may list nowhere
	namespaces []string         // namespaces in which the user may list no kind of the app
	failing    []failingKind    // kinds that nobody can list now
	// partly are the kinds that the user may list in some namespaces of the record, and not in
	// others. They count for a deletion alone: nothing would find their objects after it.
	partly []unlistableKind
}

// unlistableKind is a kind that the user may list nowhere.
type unlistableKind struct {
	schema.GroupResource
	namespaced bool
	namespaces []string // those that were tried besides all at once
}

// failingKind is a kind whose lists fail, or whose group the server cannot describe.
type failingKind struct {
	schema.GroupKind
	cause error
}

// unlistableOf returns the part of an app that a search for its objects could not list: of the
// kinds of the record and of more, which may be nil. A failure that the options ignore does not
// count.
func (c *Client) unlistableOf(
	ctx context.Context, target *App, o SearchOptions, more []schema.GroupKind,
	missed unlistedKinds,
) (unlistable, error) {
	var u unlistable
	if target.IsLabelled() {
		return u, nil
	}
	if target.Meta.UsedGKs == nil {
		return c.failingGroups(ctx, target, o, missed)
	}
	var listed []cluster.UnlistedKind // the namespaced kinds that may be listed somewhere
	recorded := target.Meta.LastDeployment.Namespaces
	kinds := slices.Clone(*target.Meta.UsedGKs)
	for _, gk := range uniqueKinds(slices.Clone(more)) {
		if !slices.Contains(kinds, gk) {
			kinds = append(kinds, gk)
		}
	}
	for _, gk := range kinds {
		m := missed[gk]
		m.Cause = cmp.Or(m.Cause, c.Cluster.WhyHidden(ctx, gk))
		kind, err := c.Cluster.Kind(ctx, gk)
		unknown := (*cluster.UnknownKindError)(nil)
		if err != nil && !errors.As(err, &unknown) {
			return u, err
		}
		switch {
		case m.Cause != nil && o.IgnoreFailing:
		case m.Cause != nil:
			u.failing = append(u.failing, failingKind{gk, m.Cause})
		case m.Forbidden:
			resource := kind.Resource.GroupResource()
			u.kinds = append(u.kinds, unlistableKind{resource, kind.Namespaced, m.Namespaces})
		case kind.Namespaced:
			listed = append(listed, m)
			hidden := slices.DeleteFunc(slices.Clone(m.Namespaces), func(namespace string) bool {
				return !slices.Contains(recorded, namespace)
			})
			if len(hidden) > 0 {
				resource := kind.Resource.GroupResource()
				u.partly = append(u.partly, unlistableKind{resource, true, hidden})
			}
		}
	}
	for _, namespace := range recorded {
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

// failingGroups returns what fails of an app whose record names no kinds: kinds of the groups that
// it names.
func (c *Client) failingGroups(
	ctx context.Context, target *App, o SearchOptions,
	missed unlistedKinds,
) (u unlistable, err error) {
	_, broken, err := c.Cluster.ListableKinds(ctx)
	if err != nil || o.IgnoreFailing {
		return u, err
	}
	groups := map[string]bool{}
	for _, gv := range target.Meta.UsedGVs {
		groups[gv.Group] = true
	}
	for gv, cause := range broken {
		if groups[gv.Group] {
			u.failing = append(u.failing, failingKind{schema.GroupKind{Group: gv.Group}, cause})
		}
	}
	for gk, m := range missed {
		if m.Cause != nil && groups[gk.Group] {
			u.failing = append(u.failing, failingKind{gk, m.Cause})
		}
	}
	slices.SortFunc(u.failing, func(a, b failingKind) int {
		return cmp.Compare(a.String(), b.String())
	})
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
		return len(u.failing) == 0 && !slices.Contains(u.namespaces, namespace) &&
			!slices.ContainsFunc(u.kinds, in)
	})
}

// any reports whether there may be unlistable objects.
func (u unlistable) any() bool { return len(u.kinds)+len(u.namespaces)+len(u.failing) > 0 }

// hidden returns a *HiddenError if there is anything; else nil.
func (u unlistable) hidden() error {
	if !u.any() {
		return nil
	}
	return &HiddenError{append(u.failures(), u.permissions()...)}
}

// keepsRecord reports whether objects of the app may exist that a deletion does not see.
func (u unlistable) keepsRecord() bool { return u.any() || len(u.partly) > 0 }

// failures returns the kinds that nobody can list now, one a line, with the cause.
func (u unlistable) failures() []string {
	var lines []string
	for _, kind := range u.failing {
		name := kind.String()
		if kind.Kind == "" {
			name = "the API group " + kind.Group
		}
		lines = append(lines, fmt.Sprintf("%s: %v", name, kind.cause))
	}
	return lines
}

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
func (u unlistable) refuseDelete(target *App) error {
	if len(u.namespaces) == 0 {
		u.kinds = slices.Concat(u.kinds, u.partly)
	}
	return &UnlistableError{Permissions: u.permissions(), Failures: u.failures(), app: target}
}
