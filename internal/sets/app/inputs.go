package app

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Describe prepares and labels the resources that the app is going to have, and selects those that
// the filter matches.
func (s *Set) Describe(ctx context.Context, all []resource.Resource) (err error) {
	all, s.config, err = config.Extract(all, ConfigVersion)
	if err != nil {
		return err
	}
	s.ignorable = ignorable(s.app, s.req.Search, all)
	if err := s.awaitDiscovery(ctx, s.ignorable); err != nil {
		return err
	}
	if err := s.learnKinds(ctx, all); err != nil {
		return err
	}
	s.preparation = s.req.Preparation
	s.preparation.Namespace, s.preparation.Now = s.Namespace, s.Now()
	s.preparation.Kinds = s.kindOf(ctx)
	if s.inputs, err = s.preparation.Run(all); err != nil {
		return err
	}
	for _, r := range s.inputs {
		if err := s.label(r); err != nil {
			return err
		}
	}
	s.desired = contentsOf(s.inputs)
	s.fallback = s.Client.FallbackOf(s.app, namespacesOf(s.inputs, nil)...)
	matching, err := s.req.Filter.ResourceFilter(s.Now())
	s.selected = slices.DeleteFunc(slices.Clone(s.inputs), func(r resource.Resource) bool {
		return !matching.Matches(r.Unstructured)
	})
	return err
}

// learnKinds adds the kinds that the inputs define to those of the cluster.
func (s *Set) learnKinds(ctx context.Context, inputs []resource.Resource) error {
	for _, r := range inputs {
		if r.GroupVersionKind().GroupKind() == plan.DefinitionKind {
			if err := s.Cluster.LearnKind(ctx, r.Unstructured); err != nil {
				return err
			}
		}
	}
	return nil
}

// kindOf returns a function that looks up a kind in a version: whether it is namespaced, and
// whether the cluster has it. For an unknown kind it asks the server once more, since the kind
// may be new, and waits for one whose definition has been established. A kind of a broken group
// version counts as unknown: awaitDiscovery has found it to be ignorable.
func (s *Set) kindOf(
	ctx context.Context,
) func(schema.GroupVersionKind) (namespaced, known bool, err error) {
	refreshed, awaited := false, map[schema.GroupVersionKind]bool{}
	return func(gvk schema.GroupVersionKind) (bool, bool, error) {
		for {
			kind, err := s.Cluster.Kind(ctx, gvk.GroupKind())
			if unknown := (*cluster.UnknownKindError)(nil); err != nil && !errors.As(err,
				&unknown) {
				return false, false, err
			}
			if served := slices.Contains(kind.Versions(), gvk.Version); served || awaited[gvk] {
				return kind.Namespaced, served, nil
			}
			if !refreshed {
				err = s.Cluster.Rediscover(ctx)
			} else {
				awaited[gvk], err = true, s.Cluster.AwaitKind(ctx, gvk)
			}
			if refreshed = true; err != nil {
				return false, false, err
			}
		}
	}
}

// label adds the labels of the app to a resource and, unless the app labels its objects alone, to
// its selectors. A resource that somebody else creates gets only the latter.
func (s *Set) label(r resource.Resource) error {
	key, value, err := s.app.Label()
	if err != nil {
		return err
	}
	external, alone := resource.IsExternal(r.Unstructured), s.app.LabelsOnlyObjects()
	association := resource.Association(resource.Key(r.Unstructured))
	labels := map[string]string{key: value, resource.LabelAssociation: association}
	switch {
	case alone && !external:
		s.config.AddObjectLabels(r.Unstructured, labels)
	case !external:
		if err := s.config.AddOwnershipLabels(r.Unstructured, labels); err != nil {
			return err
		}
	}
	if alone {
		return nil
	}
	return s.config.AddScopingLabels(r.Unstructured, map[string]string{key: value},
		s.req.ScopeSelectors)
}

// contentsOf returns copies of the fields of inputs.
func contentsOf(inputs []resource.Resource) []any {
	contents := make([]any, len(inputs))
	for i, r := range inputs {
		contents[i] = r.DeepCopy().Object
	}
	return contents
}
