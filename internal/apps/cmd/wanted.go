package cmd

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/apps/config"
	"github.com/muster-deploy/muster/internal/apps/input"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/plan"
)

// preparation makes resources of the app of what the files describe.
type preparation = input.Preparation

// clusterPlace stands in records for resources without a namespace.
const clusterPlace = "(cluster)"

// wanted reads the files and makes resources of the app of what they describe. The flags' filter has not been asked yet.
func (d *deployment) wanted(ctx context.Context) ([]resource.Resource, error) {
	if len(d.files.files) == 0 {
		return nil, errors.New("Expected at least one --file (-f) specified with a file or directory path")
	}
	all, err := input.Load(ctx, input.Options{Files: d.files.files, Stdin: d.env.In})
	if err != nil {
		return nil, err
	}
	all, d.config, err = config.Extract(all, version)
	if err != nil {
		return nil, err
	}
	d.ignorable = ignorable(d.target, d.kinds, all)
	if err := d.described(ctx, d.ignorable); err != nil {
		return nil, err
	}
	if err := d.learn(ctx, all); err != nil {
		return nil, err
	}
	d.prepare = input.Preparation{
		Namespace: d.namespace, IntoNs: d.deploy.intoNs, MapNs: d.deploy.mapNs,
		AllowCheck: d.deploy.allowCheck, AllowNs: d.deploy.allowNs, AllowAllNs: d.deploy.allowAllNs, AllowCluster: d.deploy.allowCluster,
		Kinds: d.kind(ctx), Now: time.Now(),
	}
	if all, err = d.prepare.Run(all); err != nil {
		return nil, err
	}
	for _, r := range all {
		if err := d.mark(r.Unstructured); err != nil {
			return nil, err
		}
	}
	d.within = d.fallback(d.target, placesOf(all, nil)...)
	return all, nil
}

// learn takes in the kinds that the files define.
func (d *deployment) learn(ctx context.Context, all []resource.Resource) error {
	for _, r := range all {
		if r.GroupVersionKind().GroupKind() == plan.DefinitionKind {
			if err := d.client.LearnKind(ctx, r.Unstructured); err != nil {
				return err
			}
		}
	}
	return nil
}

// kind tells of a kind, in a version, whether its objects live in namespaces and whether there is such a kind. That it cannot be
// described now was found to be ignorable. For one that is not known the server is asked once more: it may have been defined a
// moment ago.
func (d *deployment) kind(ctx context.Context) func(schema.GroupVersionKind) (namespaced, known bool, err error) {
	again := false
	return func(gvk schema.GroupVersionKind) (bool, bool, error) {
		for {
			kind, err := d.client.Kind(ctx, gvk.GroupKind())
			if unknown := (*cluster.UnknownKindError)(nil); err != nil && !errors.As(err, &unknown) {
				return false, false, err
			}
			if served := slices.Contains(kind.Versions(), gvk.Version); served || again {
				return kind.Namespaced, served, nil
			}
			again = true
			if err := d.client.Rediscover(ctx); err != nil {
				return false, false, err
			}
		}
	}
}

// mark puts the labels of the app on a resource. One that somebody else is to create gets none.
func (d *deployment) mark(obj *unstructured.Unstructured) error {
	key, value, err := d.target.Label()
	if err != nil {
		return err
	}
	if _, foreign := obj.GetAnnotations()[resource.AnnExists]; !foreign {
		owned := map[string]string{key: value, resource.LabelAssociation: resource.Association(resource.Key(obj))}
		if err := d.config.AddOwnershipLabels(obj, owned); err != nil {
			return err
		}
	}
	return d.config.AddScopingLabels(obj, map[string]string{key: value}, d.deploy.defaultScoping)
}

// placesOf are the namespaces of resources and of objects that there are, sorted.
func placesOf(all []resource.Resource, existing []live) []string {
	var places []string
	take := func(obj live) {
		place := obj.GetNamespace()
		if place == "" {
			place = clusterPlace
		}
		places = append(places, place)
	}
	for _, r := range all {
		take(r.Unstructured)
	}
	for _, obj := range existing {
		take(obj)
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// usedBy are the versions and kinds of what is wanted and of what there is.
func usedBy(wanted []resource.Resource, existing []live) (versions []schema.GroupVersion, kinds []schema.GroupKind) {
	seen := map[schema.GroupVersionKind]bool{}
	take := func(gvk schema.GroupVersionKind) {
		if !seen[gvk] {
			seen[gvk] = true
			versions, kinds = append(versions, gvk.GroupVersion()), append(kinds, gvk.GroupKind())
		}
	}
	for _, r := range wanted {
		take(r.GroupVersionKind())
	}
	for _, obj := range existing {
		take(obj.GroupVersionKind())
	}
	return versions, kinds
}
