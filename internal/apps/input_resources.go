package apps

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/apps/config"
	"github.com/muster-deploy/muster/internal/apps/input"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/plan"
)

// loadInputs reads the files, and prepares and labels the resources that they describe.
func (d *Deployment) loadInputs(ctx context.Context) error {
	all, err := d.readInputs(ctx)
	if err != nil {
		return err
	}
	all, d.config, err = config.Extract(all, ConfigVersion)
	if err != nil {
		return err
	}
	d.ignorable = ignorable(d.app, d.req.Search, all)
	if err := d.awaitDiscovery(ctx, d.ignorable); err != nil {
		return err
	}
	if err := d.learnKinds(ctx, all); err != nil {
		return err
	}
	d.preparation = d.req.Preparation
	d.preparation.Namespace, d.preparation.Kinds, d.preparation.Now = d.Namespace, d.kindOf(
		ctx,
	), d.Now()
	if d.inputs, err = d.preparation.Run(all); err != nil {
		return err
	}
	for _, r := range d.inputs {
		if err := d.label(r); err != nil {
			return err
		}
	}
	d.desired = contentsOf(d.inputs)
	d.fallback = d.Client.fallback(d.app, namespacesOf(d.inputs, nil)...)
	return nil
}

// readInputs returns the resources of the files, or those that the request has.
func (d *Deployment) readInputs(ctx context.Context) ([]resource.Resource, error) {
	switch {
	case len(d.req.Input.Files) > 0:
		return input.Load(ctx, d.req.Input)
	case d.req.Resources != nil:
		return d.req.Resources, nil
	default:
		return nil, errors.New("Expected at least one --file (-f) specified with a file or directory " +
			"path")
	}
}

// learnKinds adds the kinds that the inputs define to those of the cluster.
func (d *Deployment) learnKinds(ctx context.Context, inputs []resource.Resource) error {
	for _, r := range inputs {
		if r.GroupVersionKind().GroupKind() == plan.DefinitionKind {
			if err := d.Cluster.LearnKind(ctx, r.Unstructured); err != nil {
				return err
			}
		}
	}
	return nil
}

// kindOf returns a function that looks up a kind in a version: whether it is namespaced, and
// whether the cluster has it. For an unknown kind it asks the server once more, since the kind
// may be new. A kind of a broken group version counts as unknown: awaitDiscovery has found it to
// be ignorable.
func (d *Deployment) kindOf(
	ctx context.Context,
) func(schema.GroupVersionKind) (namespaced, known bool, err error) {
	refreshed := false
	return func(gvk schema.GroupVersionKind) (bool, bool, error) {
		for {
			kind, err := d.Cluster.Kind(ctx, gvk.GroupKind())
			if unknown := (*cluster.UnknownKindError)(nil); err != nil && !errors.As(err,
				&unknown) {
				return false, false, err
			}
			if served := slices.Contains(kind.Versions(), gvk.Version); served || refreshed {
				return kind.Namespaced, served, nil
			}
			refreshed = true
			if err := d.Cluster.Rediscover(ctx); err != nil {
				return false, false, err
			}
		}
	}
}

// label adds the labels of the app to a resource and, unless the app labels its objects alone, to
// its selectors. A resource that somebody else creates gets only the latter.
func (d *Deployment) label(r resource.Resource) error {
	key, value, err := d.app.Label()
	if err != nil {
		return err
	}
	external, alone := resource.IsExternal(r.Unstructured), d.app.LabelsOnlyObjects()
	association := resource.Association(resource.Key(r.Unstructured))
	labels := map[string]string{key: value, resource.LabelAssociation: association}
	switch {
	case alone && !external:
		d.config.AddObjectLabels(r.Unstructured, labels)
	case !external:
		if err := d.config.AddOwnershipLabels(r.Unstructured, labels); err != nil {
			return err
		}
	}
	if alone {
		return nil
	}
	return d.config.AddScopingLabels(r.Unstructured, map[string]string{key: value},
		d.req.ScopeSelectors)
}

// contentsOf returns copies of the fields of inputs.
func contentsOf(inputs []resource.Resource) []any {
	contents := make([]any, len(inputs))
	for i, r := range inputs {
		contents[i] = r.DeepCopy().Object
	}
	return contents
}
