package lastapplied

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/builtin"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
)

// predict returns the object that a server will probably store for a sent one: in the form of its
// built-in type and with defaults. If it is known what the server changed in the last version, the
// same changes are applied. Metadata that only a server sets is missing; it is on both sides of a
// fingerprint. existing may be nil.
func predict(
	sent, existing *unstructured.Unstructured, rules *config.Config,
) *unstructured.Unstructured {
	out := applyDefaults(sent.DeepCopy(), existing)
	if existing == nil {
		return out
	}
	base, ok := Base(existing, rules)
	if !ok {
		return out
	}
	live := withoutAnnotations(existing, recordKeys...)
	rebaseFields(applyDefaults(base, existing).Object, live.Object, out.Object)
	return out
}

// applyDefaults changes an object, in place, as any server does.
func applyDefaults(obj, existing *unstructured.Unstructured) *unstructured.Unstructured {
	before(obj)
	setBuiltinForm(obj)
	builtin.SetDefaults(obj.Object)
	after(obj, existing)
	return obj
}

// isKind reports whether an object is of a kind of the core group.
func isKind(obj *unstructured.Unstructured, kind string) bool {
	return obj.GetKind() == kind && obj.GetAPIVersion() == "v1"
}

// rebaseFields applies the server's unpredicted changes of the last version to the present
// prediction, in place: a value that is predicted as for the last version becomes the live one.
func rebaseFields(then, live, now map[string]any) {
	for key, value := range live {
		was, inThen := then[key]
		is, inNow := now[key]
		switch {
		case inThen && inNow:
			now[key] = rebaseValue(was, value, is)
		case !inThen && !inNow:
			now[key] = runtime.DeepCopyJSONValue(value)
		}
	}
	for key, was := range then {
		is, inNow := now[key]
		if _, isLive := live[key]; !isLive && inNow && jsonvalue.Equal(was, is) {
			delete(now, key)
		}
	}
}

// rebaseValue returns one predicted value with the server's changes.
func rebaseValue(then, live, now any) any {
	switch n := now.(type) {
	case map[string]any:
		t, wasFields := then.(map[string]any)
		l, isFields := live.(map[string]any)
		if wasFields && isFields {
			rebaseFields(t, l, n)
			return n
		}
	case []any:
		t, _ := then.([]any)
		l, _ := live.([]any)
		if len(t) == len(n) && len(l) == len(n) {
			for i := range n {
				n[i] = rebaseValue(t[i], l[i], n[i])
			}
			return n
		}
	}
	if jsonvalue.Equal(then, now) {
		return runtime.DeepCopyJSONValue(live)
	}
	return now
}

// setBuiltinForm converts an object to the form of its built-in type, in place. Objects of other
// types, and those that do not fit their type, are not changed.
func setBuiltinForm(obj *unstructured.Unstructured) {
	if fields, ok, err := builtin.Normalize(obj.GroupVersionKind(), obj.Object); ok && err == nil {
		obj.Object = fields
	}
}
