package sets

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/plan"
)

// newMarks returns the marks of the new set that an object has.
func (r *reduction) newMarks(desired *unstructured.Unstructured) texts {
	labels, annotations := owner.Keys(r.own.Kind)
	annotations = append(slices.Clone(annotations), r.marks.Annotations...)
	annotations = append(annotations, r.adoption.format().adoption.marks...)
	if r.plan.Keeper == nil { // which adds what was applied later
		annotations = append(annotations, r.plan.LastApplied)
	}
	set := texts{"labels": {}, "annotations": {}}
	set.add(desired, "labels", labels)
	set.add(desired, "annotations", annotations)
	return set
}

// add adds the values that an object has of some labels or annotations.
func (t texts) add(obj *unstructured.Unstructured, field string, keys []string) {
	values, _, _ := unstructured.NestedMap(obj.Object, "metadata", field)
	for _, key := range keys {
		if value, has := values[key]; has {
			t[field][key] = value
		}
	}
}

// isOwned reports whether marks name the new set as the owner.
func (r *reduction) isOwned(set texts) bool {
	labels, annotations := owner.Keys(r.own.Kind)
	in := func(field string) func(string) bool {
		return func(key string) bool { _, has := set[field][key]; return has }
	}
	return slices.ContainsFunc(labels, in("labels")) ||
		slices.ContainsFunc(annotations, in("annotations"))
}

// cannotMark adds an object that an apply of the new set leaves out: it would lose the marks of the
// old set, and belong to nobody.
func (r *reduction) cannotMark(step *plan.Step) {
	r.adoption.look.problems = append(r.adoption.look.problems,
		step.Ref.String()+" "+notMarked)
}

// notMarked is why an object that would lose the marks of its set is not given to another.
const notMarked = "would not be marked, because an apply leaves it out: take the annotation that " +
	"says so out of its manifest, at least until the new set has the objects"

// rememberDropped makes what a package records as applied last have the fields that the old tool
// applied and that the folder does not describe any more: the next apply removes them. If the
// plan has a Keeper, it reports whether there are such fields. What an interrupted run has recorded
// stays.
func (r *reduction) rememberDropped(
	want, live *unstructured.Unstructured, set texts,
) (dropped bool, err error) {
	former := r.former[object.RefOf(live)]
	key := r.plan.LastApplied
	if former == nil {
		if slices.ContainsFunc(owner.Of(live), r.own.Is) {
			delete(set["annotations"], key)
		}
		return false, nil
	}
	if r.plan.Keeper != nil {
		return lacks(want.Object, withData(former).Object), nil
	}
	text, _ := set["annotations"][key].(string)
	applied := map[string]any{}
	if text == "" || json.Unmarshal([]byte(text), &applied) != nil ||
		!lacks(applied, former.Object) {
		return false, nil
	}
	data, err := json.Marshal(union(applied, former.Object))
	set["annotations"][key] = string(data) + "\n"
	return true, err
}

// withData returns a manifest of a Secret with the keys of its stringData in its data, where apps
// put them. Values do not count here.
func withData(obj *unstructured.Unstructured) *unstructured.Unstructured {
	texts, has, _ := unstructured.NestedMap(obj.Object, "stringData")
	if !has || obj.GetKind() != "Secret" {
		return obj
	}
	obj = obj.DeepCopy()
	data, _, _ := unstructured.NestedMap(obj.Object, "data")
	if data == nil {
		data = map[string]any{}
	}
	maps.Copy(data, texts)
	obj.Object["data"] = data
	delete(obj.Object, "stringData")
	return obj
}

// lacks reports whether a value lacks fields, or items of lists, that a former one has.
func lacks(now, former any) bool {
	switch former := former.(type) {
	case map[string]any:
		have, ok := now.(map[string]any)
		for key, value := range former {
			inner, has := have[key]
			if !ok || !has || lacks(inner, value) {
				return true
			}
		}
	case []any:
		have, ok := now.([]any)
		if !ok || len(have) < len(former) {
			return true
		}
		for i := range former {
			if lacks(have[i], former[i]) {
				return true
			}
		}
	}
	return false
}

// union returns a value with the fields that a former one has beside, and its lists.
func union(now, former any) any {
	have, isMap := now.(map[string]any)
	was, wasMap := former.(map[string]any)
	if !isMap || !wasMap {
		return former
	}
	all := maps.Clone(have)
	for key, value := range was {
		all[key] = value
		if inner, has := have[key]; has {
			all[key] = union(inner, value)
		}
	}
	return all
}
