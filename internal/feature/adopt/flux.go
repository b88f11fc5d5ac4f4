package adopt

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
)

// checkFlux returns an error if the objects of a release carry the marks of a HelmRelease of Flux
// that is not suspended: its controller would install the release again. The marks are added to
// those of the set.
func (s *Set) checkFlux(ctx context.Context, c cluster.Reader) error {
	targets := make([]cluster.Target, len(s.Objects))
	for i, obj := range s.Objects {
		targets[i] = cluster.Target{Ref: obj.Ref, Version: obj.Version}
	}
	found, err := c.Read(ctx, targets)
	if err == nil {
		err = found.Check()
	}
	if err != nil {
		return err
	}
	for _, obj := range s.Objects {
		for _, o := range owner.Of(found.Objects[obj.Ref]) {
			if o.Kind != owner.FluxRelease {
				continue
			}
			o.Labels, o.Annotations = nil, nil
			s.Owners = append(s.Owners, o)
			return checkSuspended(ctx, c, object.Ref{
				Group: helmReleaseKind.Group, Kind: helmReleaseKind.Kind, Namespace: o.Namespace,
				Name: o.Name,
			})
		}
	}
	return nil
}

// checkSuspended returns an error if an object of Flux exists and is not suspended, or if its
// controller has not ended what it began before.
func checkSuspended(ctx context.Context, c cluster.Reader, ref object.Ref) error {
	found, err := c.Read(ctx, []cluster.Target{{Ref: ref}})
	if err == nil {
		err = found.Check()
	}
	if err != nil {
		return err
	}
	if obj := found.Objects[ref]; obj != nil {
		return suspendError(obj)
	}
	return nil
}

// suspendError returns an error if an object of Flux is not suspended, or if what its controller
// began before has not ended. A controller does nothing about one that is suspended, so that what
// a failed run has left in its status stays.
func suspendError(obj *unstructured.Unstructured) error {
	kind, name, namespace := obj.GetKind(), obj.GetName(), obj.GetNamespace()
	title := fluxTitle(obj)
	suspended, _, _ := unstructured.NestedBool(obj.Object, "spec", "suspend")
	reconciling := conditionOf(obj, "Reconciling")
	problem, _ := conditionOf(obj, "Ready")["message"].(string)
	switch {
	case !suspended:
		return &BusyError{title, "is not suspended, and its controller would change the objects back",
			fmt.Sprintf("first run kubectl patch %s %s -n %s --type=merge "+
				"-p '{\"spec\":{\"suspend\":true}}'", fluxResources[kind], name, namespace)}
	case reconciling["status"] == "True" && reconciling["reason"] == "ProgressingWithRetry":
		return &BusyError{title, "is suspended, but its last run failed (" + problem + ")",
			"resume it, correct that, and suspend it again when it is ready"}
	case reconciling["status"] == "True":
		return &BusyError{title, "is suspended, but what its controller began has not ended",
			"wait until its condition Reconciling is gone"}
	case obj.GetDeletionTimestamp() != nil:
		return &BusyError{title, "is being deleted", "wait until it is gone"}
	}
	return nil
}

// remoteError returns an error if an object of Flux deploys to another cluster: objects of the same
// names in this one would be others.
func remoteError(obj *unstructured.Unstructured) error {
	if _, remote, _ := unstructured.NestedMap(obj.Object, "spec", "kubeConfig"); !remote {
		return nil
	}
	return fmt.Errorf("%s deploys to another cluster (spec.kubeConfig), and its objects cannot be "+
		"adopted in this one", fluxTitle(obj))
}

// fluxTitle returns what messages call an object of Flux.
func fluxTitle(obj *unstructured.Unstructured) string {
	return fmt.Sprintf("Flux %s %q in namespace %s", obj.GetKind(), obj.GetName(), obj.GetNamespace())
}

// fluxResources are the names of the kinds of Flux in commands of kubectl.
var fluxResources = map[string]string{
	"HelmRelease":   "helmreleases.helm.toolkit.fluxcd.io",
	"Kustomization": "kustomizations.kustomize.toolkit.fluxcd.io",
}

// The kinds of sets of Flux, as users name them.
const kustomizationName, helmReleaseName = "kustomization", "helmrelease"

// readFlux reads a Kustomization or a HelmRelease of Flux.
func readFlux(ctx context.Context, c cluster.Reader, r Request) (*Set, error) {
	kind, name, found := strings.Cut(r.Name, "/")
	if !found {
		kind, name = kustomizationName, r.Name
	}
	switch strings.ToLower(kind) {
	case kustomizationName:
		return readKustomization(ctx, c, object.Ref{
			Group: kustomizationKind.Group, Kind: kustomizationKind.Kind, Namespace: r.Namespace,
			Name: name,
		})
	case helmReleaseName:
		return readHelmRelease(ctx, c, object.Ref{
			Group: helmReleaseKind.Group, Kind: helmReleaseKind.Kind, Namespace: r.Namespace, Name: name,
		})
	default:
		return nil, fmt.Errorf("%q names no set of Flux: give %s/NAME or %s/NAME", r.Name,
			kustomizationName, helmReleaseName)
	}
}

// readKustomization reads a Kustomization of Flux: its status names the objects, and their managed
// fields say what was applied.
func readKustomization(ctx context.Context, c cluster.Reader, ref object.Ref) (*Set, error) {
	obj, err := readOne(ctx, c, ref, "")
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(remoteError(obj), suspendError(obj)); err != nil {
		return nil, err
	}
	o := owner.Owner{Kind: owner.Kustomization, Name: ref.Name, Namespace: ref.Namespace}
	set := &Set{
		Tool: Flux, Program: "flux", Title: o.String(),
		Owners: []owner.Owner{o}, Managers: []string{"kustomize-controller"},
		Notes: []string{fmt.Sprintf("the %s stays, suspended; delete it when you do not need it: its "+
			"controller deletes nothing of what it deployed while it is suspended", ref.Kind)},
	}
	if prunes, _, _ := unstructured.NestedBool(obj.Object, "spec", "prune"); !prunes {
		set.Notes = append(set.Notes, fmt.Sprintf("the %s deletes nothing that is removed from its "+
			"source (spec.prune), but the new set prunes", ref.Kind))
	}
	set.Version, _, _ = unstructured.NestedString(obj.Object, "status", "lastAppliedRevision")
	entries, _, _ := unstructured.NestedSlice(obj.Object, "status", "inventory", "entries")
	var targets []cluster.Target
	for _, item := range entries {
		entry, _ := item.(map[string]any)
		id, _ := entry["id"].(string)
		version, _ := entry["v"].(string)
		target, err := fluxTarget(id, version)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", set.Title, err)
		}
		targets = append(targets, target)
	}
	_, err = set.addTargets(ctx, c, targets, func(*unstructured.Unstructured) bool { return true })
	return set, err
}

// fluxTarget returns the object of an entry of an inventory of Flux: NAMESPACE_NAME_GROUP_KIND,
// where a colon in a name is written as two underscores.
func fluxTarget(id, version string) (cluster.Target, error) {
	namespace, rest, _ := strings.Cut(id, "_")
	at := strings.LastIndex(rest, "_")
	if at < 0 {
		return cluster.Target{}, fmt.Errorf("the entry %q of its inventory is not valid", id)
	}
	rest, kind := rest[:at], rest[at+1:]
	at = strings.LastIndex(rest, "_")
	if at < 0 || kind == "" {
		return cluster.Target{}, fmt.Errorf("the entry %q of its inventory is not valid", id)
	}
	return cluster.Target{Version: version, ManagedFields: true, Ref: object.Ref{
		Group: rest[at+1:], Kind: kind, Namespace: namespace,
		Name: strings.ReplaceAll(rest[:at], "__", ":"),
	}}, nil
}

// addTargets adds the live objects among targets, and returns them. What does not exist, or was not
// deployed by the tool, is noted: nothing says how it was applied. What cannot be read is an error.
func (s *Set) addTargets(
	ctx context.Context, c cluster.Reader, targets []cluster.Target,
	isDeployed func(*unstructured.Unstructured) bool,
) ([]*unstructured.Unstructured, error) {
	found, err := c.Read(ctx, targets)
	if err == nil {
		err = found.Check()
	}
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, target := range targets {
		live, reason := found.Objects[target.Ref], "does not exist"
		if live != nil && isDeployed(live) {
			s.addLive(live)
			all = append(all, live)
			continue
		} else if live != nil {
			reason = "has no mark of " + s.Title
		}
		s.Notes = append(s.Notes, fmt.Sprintf("%s %s, and is left out", target.Ref, reason))
	}
	return all, nil
}

// readHelmRelease reads the Helm release of a HelmRelease of Flux.
func readHelmRelease(ctx context.Context, c cluster.Reader, ref object.Ref) (*Set, error) {
	obj, err := readOne(ctx, c, ref, "")
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(remoteError(obj), suspendError(obj)); err != nil {
		return nil, err
	}
	text := func(field string) string {
		value, _, _ := unstructured.NestedString(obj.Object, "spec", field)
		return value
	}
	target := text("targetNamespace")
	name := text("releaseName")
	if name == "" && target != "" {
		name = target + "-" + ref.Name
	}
	return readRelease(ctx, c, Request{
		Tool: Helm, Name: cmp.Or(name, ref.Name),
		Namespace: cmp.Or(text("storageNamespace"), ref.Namespace),
	})
}
