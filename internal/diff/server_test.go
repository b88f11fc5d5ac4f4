package diff

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
)

// TestAppliedByAgreesWithServer lets the API server's own field manager judge many random
// histories: an object is applied, someone updates it, something fills in fields that nobody owns,
// and another object is wanted. When AppliedBy says that applying it changes nothing, that must be
// so; when it was only applied before, AppliedBy must see it.
func TestAppliedByAgreesWithServer(t *testing.T) {
	builtin := applyconfigurations.NewTypeConverter(scheme.Scheme)
	for _, tc := range []struct {
		archive   string
		converter managedfields.TypeConverter
	}{
		{"applied_deployment", builtin},
		{"applied_service", builtin},
		{"applied_configmap", builtin},
		{"applied_custom", managedfields.NewDeducedTypeConverter()},
	} {
		t.Run(tc.archive, func(t *testing.T) {
			base := section(t, tc.archive, "want.yaml")
			h := history{
				t:      t,
				server: managedfieldstest.NewFakeFieldManager(tc.converter, base.GroupVersionKind()),
			}
			for h.seed = range uint64(400) {
				h.rand = rand.New(rand.NewPCG(h.seed, 1))
				h.play(base)
			}
			t.Logf(
				"of %d no-ops AppliedBy saw %d, of %d right after an apply %d",
				h.same,
				h.seen,
				h.pristineSame,
				h.pristineSeen,
			)
			if h.seen < h.same/2 || h.pristineSeen < h.pristineSame*95/100 {
				t.Error("AppliedBy sees too few no-ops")
			}
		})
	}
}

func section(t testing.TB, archive, name string) *unstructured.Unstructured {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", archive+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	return objectOf(t, string(a.Files[i].Data))
}

type history struct {
	t      *testing.T
	server *managedfields.FieldManager
	seed   uint64
	rand   *rand.Rand

	// Applies that change nothing, and those that AppliedBy reports as such.
	same, seen, pristineSame, pristineSeen int
}

// play plays one history. One that the server refuses, a list where a word belongs, is no history.
func (h *history) play(base *unstructured.Unstructured) {
	first := h.mutated(base, h.rand.IntN(3))
	live := &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": base.GetAPIVersion(), "kind": base.GetKind()},
	}
	live = h.apply(live, first)
	if live == nil {
		return
	}
	pristine := h.rand.IntN(3) == 0
	want := first
	if !pristine {
		live = h.touched(live)
		want = h.next(first, live)
	}
	said, err := AppliedBy(want, live, "muster")
	if err != nil {
		h.t.Fatal(err)
	}
	if after := h.apply(live, want); after != nil {
		h.judge(want, live, after, said, pristine)
	}
}

func (h *history) judge(want, live, after *unstructured.Unstructured, said, pristine bool) {
	same := jsonvalue.Equal(timeless(live), timeless(after))
	if said && !same {
		h.t.Fatalf("seed %d: AppliedBy is true, but applying\n%s\nto\n%s\ngives\n%s", h.seed,
			encodedText(want), encodedText(live), encodedText(after))
	}
	add := func(condition bool, n *int) {
		if condition {
			*n++
		}
	}
	add(same, &h.same)
	add(said, &h.seen)
	add(same && pristine, &h.pristineSame)
	add(said && pristine, &h.pristineSeen)
}

func (h *history) apply(live, want *unstructured.Unstructured) *unstructured.Unstructured {
	out, err := h.server.Apply(live.DeepCopy(), want.DeepCopy(), "muster", true)
	if err != nil {
		return nil
	}
	applied := out.(*unstructured.Unstructured)
	setDefaults(applied.Object)
	return applied
}

// setDefaults fills in the protocol of ports, the one default that takes part in telling list items
// apart.
func setDefaults(value any) {
	switch v := value.(type) {
	case map[string]any:
		if (v["port"] != nil || v["containerPort"] != nil) && v["protocol"] == nil {
			v["protocol"] = "TCP"
		}
		for _, item := range v {
			setDefaults(item)
		}
	case []any:
		for _, item := range v {
			setDefaults(item)
		}
	}
}

// touched is the live object after someone's update, or after a change that nobody owns, or both.
func (h *history) touched(live *unstructured.Unstructured) *unstructured.Unstructured {
	if h.rand.IntN(2) == 0 {
		out, err := h.server.Update(live.DeepCopy(), h.mutated(live, 2), "other")
		if err == nil {
			live = out.(*unstructured.Unstructured)
		}
	}
	if h.rand.IntN(2) == 0 {
		live = h.mutated(live, 2)
	}
	setDefaults(live.Object)
	return live
}

// next is what is wanted next: the same, something near it, or what is live.
func (h *history) next(first, live *unstructured.Unstructured) *unstructured.Unstructured {
	switch h.rand.IntN(4) {
	case 0:
		return h.mutated(first, 1)
	case 1:
		want := live.DeepCopy()
		want.SetManagedFields(nil)
		return want
	case 2:
		want := live.DeepCopy()
		want.SetManagedFields(nil)
		return h.mutated(want, 1)
	}
	return first
}

// mutated is a copy with a number of random changes that leave identity and managed fields alone.
func (h *history) mutated(obj *unstructured.Unstructured, changes int) *unstructured.Unstructured {
	out := obj.DeepCopy()
	for range changes {
		roots := []string{"spec", "data", "labels"}
		root := roots[h.rand.IntN(len(roots))]
		parent := out.Object
		if root == "labels" {
			parent = parent["metadata"].(map[string]any)
		}
		if parent[root] != nil {
			parent[root] = h.change(parent[root])
		}
	}
	return out
}

// change makes one random change somewhere in a value.
func (h *history) change(value any) any {
	switch v := value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		if len(keys) == 0 || h.rand.IntN(12) == 0 {
			names := []string{"extra", "sizeLimit", "matchLabels", "limits", "type", "value"}
			v[names[h.rand.IntN(len(names))]] = h.filler()
			return v
		}
		key := keys[h.rand.IntN(len(keys))]
		switch h.rand.IntN(10) {
		case 0:
			delete(v, key)
		case 1:
			v[key] = h.filler()
		default:
			v[key] = h.change(v[key])
		}
		return v
	case []any:
		return h.changeList(v)
	case int64:
		return v + 1
	case string:
		return v + "x"
	}
	return value
}

func (h *history) changeList(v []any) []any {
	if len(v) == 0 {
		return v
	}
	i := h.rand.IntN(len(v))
	switch h.rand.IntN(8) {
	case 0:
		return slices.Delete(slices.Clone(v), i, i+1)
	case 1:
		j := h.rand.IntN(len(v))
		v[i], v[j] = v[j], v[i]
	case 2:
		return append(v, h.change(runtime.DeepCopyJSONValue(v[i])))
	default:
		v[i] = h.change(v[i])
	}
	return v
}

func (h *history) filler() any {
	return []any{nil, map[string]any{}, []any{}, "1", map[string]any{"a": "b"}}[h.rand.IntN(5)]
}

// timeless is an object without the times at which managers wrote it, and without nulls, which mean
// the same as nothing.
func timeless(obj *unstructured.Unstructured) map[string]any {
	out := PruneNulls(obj)
	entries, _, _ := unstructured.NestedSlice(out.Object, "metadata", "managedFields")
	for _, entry := range entries {
		delete(entry.(map[string]any), "time")
	}
	_ = unstructured.SetNestedSlice(out.Object, entries, "metadata", "managedFields")
	return out.Object
}

func encodedText(obj *unstructured.Unstructured) string {
	data, _ := obj.MarshalJSON()
	return string(data)
}
