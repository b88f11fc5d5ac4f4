package kapp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/kapp/app"
	"github.com/muster-deploy/muster/internal/kapp/resource"
)

// selection is where all objects of an app are looked for: of any kind, in all namespaces or, where those may not be listed, in
// that of the flags and those of the last change. With owners the objects say who manages which of their fields.
func (s *session) selection(target *app.App, f kindFlags, owners bool) cluster.Selection {
	selection := cluster.Selection{
		Selector: target.Selector(), OnlyFallback: f.onlyFallback, Owners: owners, Form: resource.Deployed,
		Ignorable: ignorable(target, f), Fallback: append(places(target), s.namespace),
		Told: func(text string) { s.ui.Info(text) },
	}
	slices.Sort(selection.Fallback)
	selection.Fallback = slices.Compact(selection.Fallback)
	return selection
}

// places are the namespaces of an app's last change.
func places(target *app.App) []string {
	return slices.DeleteFunc(slices.Clone(target.Meta.LastChange.Namespaces), func(place string) bool { return place == clusterPlace })
}

// ignorable tells of which groups of kinds the app has no objects, so that it does not matter whether they can be listed: those
// that neither its record names nor what is wanted. A record that does not say what it uses may use anything.
func ignorable(target *app.App, f kindFlags, wanted ...resource.Resource) func(group string) bool {
	required := map[string]bool{}
	for _, gv := range target.Meta.UsedGVs {
		required[gv.Group] = true
	}
	for _, r := range wanted {
		required[r.GroupVersionKind().Group] = true
	}
	unknown := !target.Labelled() && !target.New && len(target.Meta.UsedGVs) == 0 && target.Meta.UsedGKs == nil
	return func(group string) bool { return f.ignoreFailing || !unknown && !required[group] }
}

// objects gives the objects that are looked for.
func (s *session) objects(ctx context.Context, selection cluster.Selection) ([]live, error) {
	found, err := s.client.Select(ctx, selection)
	return found, sought(err)
}

// sought puts the error of a search into kapp's words.
func sought(err error) error {
	failed, undescribed := (*cluster.ListError)(nil), (*cluster.UndescribedError)(nil)
	switch {
	case errors.As(err, &failed):
		return fmt.Errorf("Listing %#v, namespaced: %t: %w", failed.Resource, failed.Namespaced, failed.Cause)
	case errors.As(err, &undescribed):
		return fmt.Errorf("%w (hint: the app may have resources of these; it is at your own risk to pass over them with --dangerous-ignore-failing-api-services)", err)
	}
	return err
}
