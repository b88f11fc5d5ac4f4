package e2e

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/local/laws"
)

// member is one object of a set of TestLaws.
type member struct {
	laws.Kind
	versions [2]*unstructured.Unstructured // the second has an edit
	want     [2]*unstructured.Unstructured // as the server stores them
	ignored  [2][]laws.Path                // values that the server chooses
	edit     *laws.Edit                    // from the first version to the second
	byOthers *laws.Edit                    // by another manager
	others   *laws.Edit                    // the same, until it is undone
	failed   bool                          // a law does not hold
	unknown  bool                          // and that is no known fault
}

// key returns the kind and the name of an object.
func (m *member) key() string { return key(m.versions[0]) }

// manifest returns a version as the server reads it: the values of stringData are in data.
func (m *member) manifest(version int) *unstructured.Unstructured {
	plain, _, _ := unstructured.NestedStringMap(m.versions[version].Object, "stringData")
	if len(plain) == 0 {
		return m.versions[version]
	}
	obj := m.versions[version].DeepCopy()
	data, _, _ := unstructured.NestedMap(obj.Object, "data")
	if data == nil {
		data = map[string]any{}
	}
	for key, text := range plain {
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	obj.Object["data"] = data
	delete(obj.Object, "stringData")
	return obj
}

// recreateKey is the annotation that lets an object be deleted and created again.
const recreateKey = "muster.dev/recreate"

// generate makes the objects of the set, and their second versions.
func (b *batch) generate(first int) {
	b.t.Helper()
	kinds, err := laws.Kinds(b.namespace)
	check(b.t, err)
	if names := strings.Fields(os.Getenv(kindsEnv)); len(names) > 0 {
		kinds = slices.DeleteFunc(kinds, func(k laws.Kind) bool {
			return !slices.Contains(names, k.Object.GetKind())
		})
	}
	for i := range perBatch {
		kind := kinds[(first+i)%len(kinds)]
		obj := kind.Object.DeepCopy()
		obj.SetName(fmt.Sprintf("%s-%02d", b.namespace, i))
		if b.isNamespaced(obj) {
			obj.SetName(fmt.Sprintf("object-%02d", i))
			obj.SetNamespace(b.namespace)
		}
		if b.generator.Random.IntN(6) == 0 {
			annotate(obj, recreateKey, "true")
		}
		m := &member{Kind: kind}
		obj = b.enrich(obj, kind)
		want, ignored := b.expected(obj)
		for v := range m.versions {
			m.versions[v], m.want[v], m.ignored[v] = obj, want, slices.Concat(ignored, kind.Pinned)
		}
		b.members = append(b.members, m)
	}
}

// enrich adds generated values to an object that the server accepts and stores.
func (b *batch) enrich(
	obj *unstructured.Unstructured, kind laws.Kind,
) *unstructured.Unstructured {
	if _, err := b.dryRun(obj); err != nil {
		b.t.Fatalf("the server refuses the object that others begin with: %v\n%s", err, asYAML(obj))
	}
	for range 2 + b.generator.Random.IntN(5) {
		for _, edit := range b.generator.Edits(obj, kind, 1, "add", "change") {
			if edited := b.accept(obj, edit, b.dryRun); edited != nil {
				obj = edited
			}
		}
	}
	return obj
}

// accept returns an object with an edit if a dry run of the server accepts and stores it. Parts of
// the value that the server refuses are left out.
func (b *batch) accept(
	obj *unstructured.Unstructured, edit laws.Edit,
	try func(*unstructured.Unstructured) (*unstructured.Unstructured, error),
) *unstructured.Unstructured {
	b.tried++
	edited := edit.Apply(obj)
	for range 4 {
		answer, err := try(edited)
		if err == nil {
			if !b.stores(edited, answer) {
				return nil
			}
			b.accepted++
			return edited
		}
		if !leaveOut(edited, edit.Path, err) {
			return nil
		}
	}
	return nil
}

// leaveOut removes the values below a path that the server refuses, and reports whether there are
// any.
func leaveOut(obj *unstructured.Unstructured, below laws.Path, err error) (removed bool) {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		path := laws.ParsePath(cause.Field)
		if len(path) > len(below) && path.Begins(below) && path.Get(obj.Object) != nil {
			path.Set(obj.Object, nil)
			removed = true
		}
	}
	return removed
}

// stores reports whether the server stores all values of an object that are not empty. Fields whose
// feature is off are dropped, for example.
func (b *batch) stores(obj, answer *unstructured.Unstructured) bool {
	stores := true
	laws.Walk(obj.Object, func(path laws.Path, value any) {
		if path[0] == "metadata" || path[0] == "stringData" || value == nil ||
			reflect.ValueOf(value).IsZero() {
			return
		}
		switch at := value.(type) {
		case map[string]any:
			return
		case []any:
			if len(at) == 0 {
				return
			}
		}
		stores = stores && path.Get(answer.Object) != nil
	})
	return stores
}

// withFormerName makes an edit of the service account under its former name, too: otherwise the
// server restores the field from there, and accepts the edit also where it cannot be made.
func withFormerName(edit laws.Edit, edited *unstructured.Unstructured) *unstructured.Unstructured {
	if last := len(edit.Path) - 1; edit.Path[last] == "serviceAccountName" {
		former := append(slices.Clone(edit.Path[:last]), "serviceAccount")
		former.Set(edited.Object, edit.Value)
	}
	return edited
}

// changeVersions gives most objects a second version: the first with one edit that the server
// accepts as an update of the live object or, if the object may be recreated, as a creation.
func (b *batch) changeVersions() {
	b.t.Helper()
	for _, m := range b.members {
		resources, first := b.resources(m.Object), m.versions[0]
		live, err := resources.Get(b.t.Context(), first.GetName(), metav1.GetOptions{})
		if err != nil {
			continue // a law has failed before
		}
		if b.smaller {
			continue
		}
		kinds := append(slices.Clone(laws.Changes), "") // some do not change
		kind := kinds[b.generator.Random.IntN(len(kinds))]
		edits := slices.Concat(b.generator.Focused(first, m.Kind, 12),
			b.generator.Edits(first, m.Kind, 6, kind))
		for _, edit := range edits {
			edited := b.accept(first, edit, b.dryRun)
			if edited == nil {
				continue
			}
			if edit.Kind != "remove" {
				edit.Value = edit.Path.Get(edited.Object) // without what was refused
			}
			_, err := resources.Update(b.t.Context(), withFormerName(edit, edit.Apply(live)),
				metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			if err == nil || first.GetAnnotations()[recreateKey] != "" && apierrors.IsInvalid(err) {
				m.versions[1], m.edit = edited, &edit
				want, ignored := b.expected(edited)
				m.want[1], m.ignored[1] = want, slices.Concat(ignored, m.Pinned)
				break
			}
		}
	}
	changed := slices.Collect(func(yield func(*member) bool) {
		for _, m := range b.members {
			if m.edit != nil && !yield(m) {
				return
			}
		}
	})
	b.t.Logf("%d of %d generated values were accepted, %d of %d objects change",
		b.accepted, b.tried, len(changed), len(b.members))
	if b.accepted*5 < b.tried && !b.smaller {
		b.t.Error("fewer than a fifth of the generated values were accepted")
	}
	b.write(1)
}

// resources returns the client of the resource of an object.
func (b *batch) resources(obj *unstructured.Unstructured) dynamic.ResourceInterface {
	b.t.Helper()
	kind := obj.GroupVersionKind()
	mapping, err := b.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	check(b.t, err)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return b.client.Resource(mapping.Resource).Namespace(b.namespace)
	}
	return b.client.Resource(mapping.Resource)
}

func (b *batch) isNamespaced(obj *unstructured.Unstructured) bool {
	b.t.Helper()
	kind := obj.GroupVersionKind()
	mapping, err := b.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	check(b.t, err)
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace
}

// dryRun returns what the server would store of an object, were there none of its name.
func (b *batch) dryRun(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	named := obj.DeepCopy()
	named.SetName(obj.GetName() + "-dry")
	if b.serverSide { // lists that have a key twice cannot be sent
		return b.resources(obj).Apply(context.Background(), named.GetName(), named, metav1.ApplyOptions{
			DryRun: []string{metav1.DryRunAll}, FieldManager: "laws", Force: true,
		})
	}
	return b.resources(obj).Create(context.Background(), named, metav1.CreateOptions{
		DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict,
	})
}

// expected returns the values of an object as the server stores them, and the paths of those that
// it chooses.
func (b *batch) expected(obj *unstructured.Unstructured) (*unstructured.Unstructured, []laws.Path) {
	b.t.Helper()
	first, err := b.dryRun(obj)
	check(b.t, err)
	second, err := b.dryRun(obj)
	check(b.t, err)
	var chosen []laws.Path
	laws.Walk(first.Object, func(path laws.Path, value any) {
		_, isMap := value.(map[string]any)
		if !isMap && !reflect.DeepEqual(value, path.Get(second.Object)) {
			chosen = append(chosen, slices.Clone(path))
		}
	})
	return content(first, obj.GetName()), chosen
}

// content returns an object without what the server and controllers own, and the marks of its set.
func content(obj *unstructured.Unstructured, name string) *unstructured.Unstructured {
	kept := obj.DeepCopy()
	delete(kept.Object, "status")
	metadata := map[string]any{"name": name}
	for _, field := range []string{"labels", "annotations"} {
		if texts, _, _ := unstructured.NestedMap(obj.Object, "metadata", field); len(texts) > 0 {
			metadata[field] = texts
		}
	}
	kept.Object["metadata"] = metadata
	removeMarks(kept.Object)
	return kept
}

// removeMarks removes the marks of a set from all maps of a value, and labels and annotations that
// are empty without them.
func removeMarks(value any) {
	switch at := value.(type) {
	case map[string]any:
		for name, inner := range at {
			below, isMap := inner.(map[string]any)
			had := len(below)
			removeMarks(inner)
			isEmpty := isMap && had > 0 && len(below) == 0
			if isMark(name) || isEmpty && (name == "labels" || name == "annotations") {
				delete(at, name)
			}
		}
	case []any:
		for _, item := range at {
			removeMarks(item)
		}
	}
}

// isMark reports whether a text has a part of a key by which sets, kubectl or controllers mark
// objects.
func isMark(text string) bool {
	return slices.ContainsFunc(setMarks, func(mark string) bool {
		return strings.Contains(text, mark)
	})
}

// setMarks are parts of the keys by which sets, kubectl and controllers mark objects.
var setMarks = []string{
	"config.k8s.io/", "kapp.k14s.io/", "kubectl.kubernetes.io/", "deployment.kubernetes.io/",
	"deprecated.daemonset", "muster.dev/", "job-name", "controller-uid",
}

// asYAML returns an object as YAML.
func asYAML(obj *unstructured.Unstructured) string {
	text, err := yaml.Marshal(obj.Object)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// write writes the manifests of a version.
func (b *batch) write(version int) {
	b.t.Helper()
	var text strings.Builder
	for _, m := range b.members {
		text.WriteString("---\n" + asYAML(m.versions[version]))
	}
	dir := fmt.Sprintf("%s/v%d", b.dir, version)
	check(b.t, os.MkdirAll(dir, 0o700))
	check(b.t, os.WriteFile(dir+"/objects.yaml", []byte(text.String()), 0o600))
	if !b.app {
		group := strings.ReplaceAll(resourceGroup, "${NS}", b.namespace)
		check(b.t, os.WriteFile(dir+"/resourcegroup.yaml", []byte(group), 0o600))
	}
}
