package adopt

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
)

// The labels and annotations of ApplySets, as KEP-3659 and kubectl have them.
const (
	applySetID         = "applyset.kubernetes.io/id"             // label of the parent
	applySetPartOf     = owner.ApplySetLabel                     // label of the members
	applySetParentType = "applyset.kubernetes.io/is-parent-type" // label of definitions

	// Annotations of the parent.
	applySetTooling    = "applyset.kubernetes.io/tooling"
	applySetGroupKinds = "applyset.kubernetes.io/contains-group-kinds"
	applySetResources  = "applyset.kubernetes.io/contains-group-resources" // the older form
	applySetNamespaces = "applyset.kubernetes.io/additional-namespaces"
)

// checkApplySetID returns an error unless an ID is that of the ApplySet with a parent: a parent
// that was copied or renamed has the ID of another set, whose objects it does not own.
func checkApplySetID(parent object.Ref, id string) error {
	if want := owner.ApplySetID(parent); id != want {
		return fmt.Errorf("the ID of the ApplySet %s does not verify: its label %s is %q, and that of a "+
			"parent with this name is %q", parent, applySetID, id, want)
	}
	return nil
}

// parentOf returns the parent that a name of kubectl's flag --applyset means: NAME of a Secret, or
// KIND/NAME, where KIND may have a group.
func parentOf(r Request) (object.Ref, error) {
	kind, name, found := strings.Cut(r.Name, "/")
	if !found {
		return object.Ref{Kind: secretKind.Kind, Namespace: r.Namespace, Name: r.Name}, nil
	}
	gk := schema.ParseGroupKind(kind)
	switch strings.ToLower(gk.Kind) {
	case "secret", "secrets":
		gk = secretKind
	case "configmap", "configmaps", "cm":
		gk = configMapKind
	}
	if name == "" || gk.Kind == "" || gk.Kind == strings.ToLower(gk.Kind) {
		return object.Ref{}, fmt.Errorf("%q names no ApplySet: give secret/NAME, configmap/NAME or, for "+
			"another kind of parent, KIND.GROUP/NAME with the kind as in manifests", r.Name)
	}
	return object.Ref{
		Group: gk.Group, Kind: gk.Kind, Namespace: r.Namespace, Name: name,
	}, nil
}

// readApplySet reads an ApplySet: its parent, and the objects that carry its label.
func readApplySet(ctx context.Context, c cluster.Reader, r Request) (*Set, error) {
	ref, err := parentOf(r)
	if err != nil {
		return nil, err
	}
	parent, err := readOne(ctx, c, ref, "")
	if err != nil {
		return nil, err
	}
	id := object.LabelsOf(parent).Get(applySetID)
	if id == "" {
		return nil, &NotFoundError{fmt.Sprintf("ApplySet %s: the object has no label %s", ref,
			applySetID), "muster list --all -A shows all"}
	}
	if err := checkApplySetID(ref, id); err != nil {
		return nil, err
	}
	set := &Set{
		Tool: ApplySet, Program: "kubectl", Title: "ApplySet " + ref.String(),
		Version:  object.AnnotationsOf(parent).Get(applySetTooling),
		Owners:   []owner.Owner{{Kind: owner.ApplySet, Name: id}},
		Managers: kubectlManagers, Labels: []string{applySetPartOf},
	}
	found, err := set.selectObjects(ctx, c, cluster.Selection{
		Selector: applySetPartOf + "=" + id, Kinds: applySetKinds(parent), ManagedFields: true,
		Fallback: append(splitList(object.AnnotationsOf(parent).Get(applySetNamespaces)),
			ref.Namespace),
	})
	if err != nil {
		return nil, err
	}
	for _, obj := range found {
		set.addLive(obj)
	}
	set.Record = []RecordChange{hideParent(parent)}
	return set, nil
}

// splitList returns the parts of a text with commas.
func splitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}

// applySetKinds returns the kinds of the members that a parent names; nil for all.
func applySetKinds(parent *unstructured.Unstructured) []schema.GroupKind {
	var kinds []schema.GroupKind
	for _, name := range splitList(object.AnnotationsOf(parent).Get(applySetGroupKinds)) {
		kinds = append(kinds, schema.ParseGroupKind(name))
	}
	return kinds
}

// hideParent returns the change by which a parent is none any more. kubectl refuses to use it as
// one, because it exists and has no annotation of a tool.
func hideParent(parent *unstructured.Unstructured) RecordChange {
	annotations, restored := map[string]any{}, map[string]any{}
	for _, key := range []string{
		applySetTooling, applySetGroupKinds, applySetResources, applySetNamespaces,
	} {
		if value, has := object.AnnotationsOf(parent).Lookup(key); has {
			annotations[key], restored[key] = nil, value
		}
	}
	id := object.LabelsOf(parent).Get(applySetID)
	return RecordChange{
		Ref: object.RefOf(parent), Version: parent.GroupVersionKind().Version, UID: parent.GetUID(),
		Patch: metadataPatch(map[string]any{applySetID: nil}, annotations),
		Undo:  metadataPatch(map[string]any{applySetID: id}, restored),
	}
}

// metadataPatch returns a merge patch for labels and annotations.
func metadataPatch(labels, annotations map[string]any) json.RawMessage {
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"labels": labels, "annotations": annotations,
	}})
	if err != nil {
		panic(fmt.Sprintf("marshal maps of strings: %v", err)) // cannot happen
	}
	return text
}
