package plan_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// largePolicy returns a policy of client-side apply.
func largePolicy() plan.Policy {
	return plan.Policy{
		Manager: "me", LastApplied: "last", Conflicts: plan.NoteConflicts,
		Owner: plan.Owner{Annotation: "owner", ID: "us"},
	}
}

// mapOf returns a ConfigMap with text of a size, and other data.
func mapOf(size int, others ...string) *unstructured.Unstructured {
	data := map[string]any{"text": strings.Repeat("x", size)}
	for _, key := range others {
		data[key] = "value"
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "a", "namespace": "demo"},
		"data":     data,
	}}
}

// liveOf returns the object of a step as the server has it, applied by a manager.
func liveOf(
	step plan.Step, operation metav1.ManagedFieldsOperationType, fields string,
) *unstructured.Unstructured {
	live := step.Want.DeepCopy()
	live.SetUID("1")
	live.SetResourceVersion("7")
	live.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "me", Operation: operation, APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:owner":{}` +
			map[bool]string{true: `,"f:last":{}`}[operation == metav1.ManagedFieldsOperationUpdate] +
			`}},"f:data":{` + fields + `}}`),
	}})
	return live
}

func buildOne(
	t *testing.T, policy plan.Policy, want, live *unstructured.Unstructured,
) (*plan.Plan, plan.Step) {
	t.Helper()
	in := plan.Input{Desired: []plan.Desired{{Object: want.DeepCopy()}}, Policy: policy}
	if live != nil {
		in.Live = map[object.Ref]*unstructured.Unstructured{object.RefOf(live): live}
	}
	p, err := plan.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return p, p.Steps[0]
}

func hasLast(obj *unstructured.Unstructured) bool {
	_, ok := obj.GetAnnotations()["last"]
	return ok
}

// TestLarge: an object whose applied configuration does not fit into its annotation, together with
// the others, is written server-side, in each kind of step, and is client-side again when it fits.
func TestLarge(t *testing.T) {
	const half, whole = 140 << 10, 256 << 10
	small, large := mapOf(10, "gone"), mapOf(whole)

	p, created := buildOne(t, largePolicy(), large, nil)
	const reason = "written server-side: too large for the annotation last"
	if created.Op != plan.Create || !created.ServerSide || hasLast(created.Want) ||
		created.Reason != reason {
		t.Errorf("create: %s server-side %t, annotation %t, reason %q", created.Op,
			created.ServerSide, hasLast(created.Want), created.Reason)
	}
	if manifest, err := p.Manifest(&created); err != nil || hasLast(manifest) {
		t.Errorf("the manifest has the annotation (%v)", err)
	}

	live := liveOf(created, metav1.ManagedFieldsOperationApply, `"f:text":{}`)
	p, same := buildOne(t, largePolicy(), large, live)
	if same.Op != plan.Unchanged || same.Reason != "" {
		t.Errorf("unchanged: %s, %q", same.Op, same.Reason)
	}
	edited := live.DeepCopy()
	edited.Object["data"] = map[string]any{"text": "others"}
	next, err := p.Replan(&same, edited)
	if err != nil || next.Op != plan.Update || !next.ServerSide || !next.Force {
		t.Errorf("replanned: %s, %v", next.Op, err)
	}

	_, clientSide := buildOne(t, largePolicy(), small, nil)
	if clientSide.ServerSide || !hasLast(clientSide.Want) || clientSide.Reason != "" {
		t.Errorf("a small object is not created client-side")
	}
	applied := liveOf(clientSide, metav1.ManagedFieldsOperationUpdate, `"f:text":{},"f:gone":{}`)
	_, grown := buildOne(t, largePolicy(), large, applied)
	if grown.Op != plan.Update || !grown.ServerSide || hasLast(grown.Want) ||
		len(grown.Patch.Data) > 0 || grown.Reason != reason {
		t.Errorf("grown: %s server-side %t, %q", grown.Op, grown.ServerSide, grown.Reason)
	}

	others := applied.DeepCopy()
	annotations := others.GetAnnotations()
	annotations["others"] = strings.Repeat("x", half)
	others.SetAnnotations(annotations)
	if _, crowded := buildOne(t, largePolicy(), mapOf(half), others); !crowded.ServerSide {
		t.Error("annotations of others do not count")
	}
}

// TestLargeFitsAgain: fields that a server-side apply of the set has set, and that the manifest
// lacks, are removed by its first client-side apply. Fields of others stay.
func TestLargeFitsAgain(t *testing.T) {
	for _, marked := range []bool{true, false} {
		_, created := buildOne(t, largePolicy(), mapOf(256<<10, "gone", "shared"), nil)
		live := liveOf(created, metav1.ManagedFieldsOperationApply,
			`"f:text":{},"f:gone":{},"f:shared":{}`)
		entries := append(live.GetManagedFields(), metav1.ManagedFieldsEntry{
			Manager: "other", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1",
			FieldsType: "FieldsV1",
			FieldsV1:   metav1.NewFieldsV1(`{"f:data":{"f:shared":{},"f:theirs":{}}}`),
		})
		live.SetManagedFields(entries)
		live.Object["data"].(map[string]any)["theirs"] = "value"
		if !marked {
			live.SetAnnotations(nil)
		}
		policy := largePolicy()
		policy.Owner.Adoption = plan.AdoptUnowned
		p, step := buildOne(t, policy, mapOf(10), live)
		if step.Op != plan.Update || step.ServerSide || !hasLast(step.Want) {
			t.Fatalf("%s server-side %t", step.Op, step.ServerSide)
		}
		keys := slices.Sorted(maps.Keys(step.Want.Object["data"].(map[string]any)))
		left := []string{"gone", "shared", "text", "theirs"}
		if marked {
			left = left[1:]
		}
		if !slices.Equal(keys, left) {
			t.Errorf("marked %t: %v", marked, keys)
		}
		next, err := p.Replan(&step, live)
		if err != nil || next.ServerSide || string(next.Patch.Data) != string(step.Patch.Data) {
			t.Errorf("marked %t: replanned %s, %v", marked, next.Op, err)
		}
	}
}

// TestFitsAgainBesideOthers: the way back to client-side apply removes nothing that others own, if
// the manifest lacks all of a map or of a list item.
func TestFitsAgainBesideOthers(t *testing.T) {
	type fields = map[string]any
	for _, tc := range []struct {
		name, version, kind string
		live, want          fields
		ours, theirs        string // FieldsV1
		patch               string // without metadata
	}{
		{
			name: "map", version: "v1", kind: "ConfigMap",
			live: fields{"data": fields{"ours": "a", "theirs": "b"}},
			ours: `"f:data":{"f:ours":{}}`, theirs: `{"f:data":{"f:theirs":{}}}`,
			patch: `"data":{"ours":null}`,
		},
		{
			name: "map of a custom resource", version: "example.com/v1", kind: "Feature",
			live:   fields{"spec": fields{"v": fields{"ours": "a", "theirs": "b"}, "gone": "x"}},
			ours:   `"f:spec":{"f:v":{"f:ours":{}},"f:gone":{}}`,
			theirs: `{"f:spec":{"f:v":{"f:theirs":{}}}}`,
			patch:  `"spec":{"gone":null,"v":{"ours":null}}`,
		},
		{
			name: "list items", version: "v1", kind: "Pod",
			live: fields{"spec": fields{"containers": []any{
				fields{"name": "main", "image": "i"},
				fields{"name": "side", "image": "theirs", "tty": true},
				fields{"name": "gone", "image": "ours", "stdin": false}, // with a default
			}}},
			want: fields{"spec": fields{"containers": []any{fields{"name": "main", "image": "i"}}}},
			ours: `"f:spec":{"f:containers":{` +
				`"k:{\"name\":\"main\"}":{".":{},"f:name":{},"f:image":{}},` +
				`"k:{\"name\":\"side\"}":{".":{},"f:name":{},"f:tty":{}},` +
				`"k:{\"name\":\"gone\"}":{".":{},"f:name":{},"f:image":{}}}}`,
			theirs: `{"f:spec":{"f:containers":{"k:{\"name\":\"side\"}":{"f:image":{}}}}}`,
			patch:  `{"$patch":"delete","name":"gone"}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			obj := func(content fields) *unstructured.Unstructured {
				o := &unstructured.Unstructured{Object: fields{"metadata": fields{}}}
				maps.Copy(o.Object, content)
				o.SetAPIVersion(tc.version)
				o.SetKind(tc.kind)
				o.SetName("a")
				o.SetNamespace("n")
				return o
			}
			_, created := buildOne(t, largePolicy(), obj(tc.live), nil)
			created.Want.SetAnnotations(maps.Clone(created.Want.GetAnnotations()))
			live := liveOf(created, metav1.ManagedFieldsOperationApply, "")
			entries := live.GetManagedFields()
			entries[0].FieldsV1 = metav1.NewFieldsV1("{" + tc.ours + "}")
			entries[0].APIVersion = tc.version
			live.SetManagedFields(append(entries, metav1.ManagedFieldsEntry{
				Manager: "other", Operation: metav1.ManagedFieldsOperationApply, APIVersion: tc.version,
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(tc.theirs),
			}))
			annotations := live.GetAnnotations()
			delete(annotations, "last")
			live.SetAnnotations(annotations)
			_, step := buildOne(t, largePolicy(), obj(tc.want), live)
			patch := string(step.Patch.Data)
			if step.Op != plan.Update || !strings.Contains(patch, tc.patch) ||
				strings.Contains(patch, "theirs") || strings.Contains(patch, "side") &&
				!strings.Contains(patch, "setElementOrder") {
				t.Errorf("%s, patch %s", step.Op, patch)
			}
			if strings.Contains(patch, `"delete","name":"side"`) {
				t.Errorf("an item of others goes: %s", patch)
			}
		})
	}
}
