package adopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// kubectlApplied is the annotation with what kubectl applied last.
const kubectlApplied = "kubectl.kubernetes.io/last-applied-configuration"

// kubectlManagers are the field managers of kubectl apply.
var kubectlManagers = []string{"kubectl-client-side-apply", "kubectl", "kubectl-last-applied"}

// endpointsKind is a kind whose objects get the labels of Services, and have no owner reference.
// Servers warn of it.
var endpointsKind = schema.GroupKind{Kind: "Endpoints"}

// selectObjects returns the objects that a selection finds, without those that controllers made: a
// controller may copy labels from an object to what it makes for it. Kinds that may not be listed
// are an error, because objects would be missing.
func (s *Set) selectObjects(
	ctx context.Context, c cluster.Reader, selection cluster.Selection,
) ([]*unstructured.Unstructured, error) {
	var unlisted []string
	selection.Unlisted = func(k cluster.UnlistedKind) {
		partial := selection.OnlyFallback && !k.Forbidden && len(k.Namespaces) == 0
		if !partial { // that other namespaces are left out is wanted
			unlisted = append(unlisted, k.GroupKind.String())
		}
	}
	if selection.Kinds == nil {
		kinds, broken, err := c.ListableKinds(ctx)
		if err != nil {
			return nil, err
		}
		for version := range broken {
			unlisted = append(unlisted, "all of "+version.String())
		}
		for _, kind := range kinds {
			if kind.GroupKind != endpointsKind {
				selection.Kinds = append(selection.Kinds, kind.GroupKind)
			}
		}
	}
	found, err := c.Select(ctx, selection)
	if err != nil {
		return nil, err
	}
	if len(unlisted) > 0 {
		slices.Sort(unlisted)
		return nil, errors.New("objects of these kinds cannot be listed, so that some of " + s.Title +
			" may be missing: " + strings.Join(slices.Compact(unlisted), ", "))
	}
	copied := 0
	found = slices.DeleteFunc(found, func(obj *unstructured.Unstructured) bool {
		made := metav1.GetControllerOfNoCopy(obj) != nil && !isAppliedAs(obj)
		if made {
			copied++
		}
		return made
	})
	if copied > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("objects that controllers made, with a label that they "+
			"copied from others, are left out (objects: %d)", copied))
	}
	return found, nil
}

// addLive adds a live object with the manifest that it was applied from.
func (s *Set) addLive(obj *unstructured.Unstructured) {
	applied := appliedManifest(obj, s.Managers)
	if applied == nil {
		s.Notes = append(s.Notes, fmt.Sprintf("%s: nothing says what was applied; its manifest is made "+
			"from the live object", object.RefOf(obj)))
		applied = withoutServerFields(obj)
	}
	if isKept(obj) { // also if another tool than that of the set, or a user, has marked it
		keep(applied)
	}
	s.Objects = append(s.Objects, Object{
		Ref: object.RefOf(obj), Version: applied.GroupVersionKind().Version, Manifest: applied,
	})
}

// appliedManifest returns the manifest that a live object was applied from: what kubectl recorded,
// or the fields that one of the managers applied; nil if neither says anything. Other tools than
// kubectl may have applied the object later than kubectl.
func appliedManifest(obj *unstructured.Unstructured, managers []string) *unstructured.Unstructured {
	if !slices.Equal(managers, kubectlManagers) { // others may have used kubectl before
		if applied := extractApplied(obj, managers); applied != nil {
			return applied
		}
	}
	recorded := &unstructured.Unstructured{}
	text := object.AnnotationsOf(obj).Get(kubectlApplied)
	if text != "" && recorded.UnmarshalJSON([]byte(text)) == nil {
		recorded.SetNamespace(obj.GetNamespace())
		return recorded
	}
	return extractApplied(obj, managers)
}

// serverFields returns the fields of metadata that only servers and controllers set.
func serverFields() []string {
	return append(object.ServerMetadata(), "ownerReferences", "finalizers")
}

// withoutServerFields returns a live object without what only servers and controllers set.
func withoutServerFields(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := object.WithMetadata(obj, func(metadata map[string]any) {
		for _, field := range serverFields() {
			delete(metadata, field)
		}
	})
	out = object.WithoutServerAnnotations(out).DeepCopy()
	delete(out.Object, "status")
	if spec, ok := out.Object["spec"].(map[string]any); ok && out.GetKind() == "Service" {
		if spec["clusterIP"] != "None" { // that was asked for
			delete(spec, "clusterIP")
			delete(spec, "clusterIPs")
		}
		for _, field := range []string{"ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"} {
			delete(spec, field)
		}
	}
	return out
}
