package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/cluster"
)

// objects are all of an app. With owners they say who manages which of their fields. Missed, which may be nil, takes the kinds of
// which there may be more.
func (s *session) objects(ctx context.Context, target *app.App, f kindFlags, owners bool, missed func(cluster.UnlistedKind)) ([]live, error) {
	selection := s.selection(target, f, owners)
	selection.Unlisted = missed
	if err := s.described(ctx, selection.Ignore); err != nil {
		return nil, err
	}
	return s.sought(ctx, selection)
}

// sought gives what a selection selects.
func (s *session) sought(ctx context.Context, selection cluster.Selection) ([]live, error) {
	found, err := s.client.Select(ctx, selection)
	if failed := (*cluster.ListError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("Listing %#v, namespaced: %t: %w", failed.Resource, failed.Namespaced, failed.Cause)
	}
	return found, err
}

// selection is where all objects of an app are looked for: of any kind, in all namespaces or, where those may not be listed, in
// those of the last change.
func (s *session) selection(target *app.App, f kindFlags, owners bool) cluster.Selection {
	return cluster.Selection{
		Selector: target.Selector(), Fallback: s.fallback(target), OnlyFallback: f.onlyFallback, ManagedFields: owners,
		Ignore: ignorable(target, f, nil), WantedVersion: resource.Deployed,
		Report: func(text string) { s.ui.Info(text) },
	}
}

// ignorable tells which versions of the API need not work: those that neither the app has used nor is to use, or all if the
// flags say so. An app whose record does not say what it uses may use any.
func ignorable(target *app.App, f kindFlags, wanted []resource.Resource) func(schema.GroupVersion) bool {
	required := map[schema.GroupVersion]bool{}
	for _, gv := range target.Meta.UsedGVs {
		required[schema.GroupVersion(gv)] = true
	}
	for _, r := range wanted {
		required[r.GroupVersionKind().GroupVersion()] = true
	}
	unknown := !target.Labelled() && !target.New && len(target.Meta.UsedGVs) == 0 && target.Meta.UsedGKs == nil
	return func(gv schema.GroupVersion) bool { return f.ignoreFailing || !unknown && !required[gv] }
}

const (
	descriptions   = 10 // how often the server is asked for its kinds, while it cannot describe some that are needed
	describesAfter = time.Second
)

// described sees to it that the server can describe the kinds of all versions of the API but those that are ignorable. A server
// behind it may be starting, so it is asked several times.
func (s *session) described(ctx context.Context, ignorable func(schema.GroupVersion) bool) error {
	for try := 1; ; try++ {
		_, broken, err := s.client.ListableKinds(ctx)
		if err != nil {
			return err
		}
		needed := false
		for gv := range broken {
			needed = needed || !ignorable(gv)
		}
		switch {
		case !needed:
			return nil
		case try == descriptions:
			return fmt.Errorf("%w (possibly related issue: https://github.com/vmware-tanzu/carvel-kapp/issues/12)", cluster.DiscoveryError(broken))
		}
		select {
		case <-time.After(describesAfter):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := s.client.Rediscover(ctx); err != nil {
			return err
		}
	}
}

// fallback are the namespaces that are looked through where not all may be: that of the command, those of the app's last change,
// and more.
func (s *session) fallback(target *app.App, more ...string) []string {
	var all []string
	seen := map[string]bool{"": true, clusterPlace: true}
	for _, place := range slices.Concat([]string{s.namespace}, target.Meta.LastChange.Namespaces, more) {
		if !seen[place] {
			seen[place] = true
			all = append(all, place)
		}
	}
	return all
}
