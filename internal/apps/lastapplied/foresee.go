package lastapplied

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-deploy/muster/internal/builtin"
)

// foresee gives what a server will probably store of an object that is sent: in the form of its built-in type, with defaults,
// and, if it is known what the server made of the last version, with what it made of it beyond that. Metadata that only a
// server gives is missing; it stands on both sides of a fingerprint. existing may be nil. An error is one of the rules.
func foresee(sent, existing *unstructured.Unstructured, rules Rules) (*unstructured.Unstructured, error) {
	out := complete(sent.DeepCopy(), existing)
	if existing == nil {
		return out, nil
	}
	base, ok, err := Base(existing, rules)
	if err != nil || !ok {
		return out, err
	}
	live := without(existing, recorded...)
	carryFields(complete(base, existing).Object, live.Object, out.Object)
	return out, nil
}

// complete changes an object, in place, as any server does.
func complete(obj, existing *unstructured.Unstructured) *unstructured.Unstructured {
	before(obj)
	typed(obj)
	built().apply(obj)
	after(obj, existing)
	return obj
}

// isKind reports whether an object is of a kind of the core group.
func isKind(obj *unstructured.Unstructured, kind string) bool {
	return obj.GetKind() == kind && obj.GetAPIVersion() == "v1"
}

// carryFields changes what is foreseen now, in place, by what was not foreseen before: where the foreseen value is what it would
// have been for the last version, it becomes the live one.
func carryFields(then, live, now map[string]any) {
	for key, value := range live {
		was, inThen := then[key]
		is, inNow := now[key]
		switch {
		case inThen && inNow:
			now[key] = carry(was, value, is)
		case !inThen && !inNow:
			now[key] = runtime.DeepCopyJSONValue(value)
		}
	}
	for key, was := range then {
		is, inNow := now[key]
		if _, isLive := live[key]; !isLive && inNow && reflect.DeepEqual(was, is) {
			delete(now, key)
		}
	}
}

// carry gives what becomes of one value that is foreseen now.
func carry(then, live, now any) any {
	switch n := now.(type) {
	case map[string]any:
		t, wasFields := then.(map[string]any)
		l, isFields := live.(map[string]any)
		if wasFields && isFields {
			carryFields(t, l, n)
			return n
		}
	case []any:
		t, _ := then.([]any)
		l, _ := live.([]any)
		if len(t) == len(n) && len(l) == len(n) {
			for i := range n {
				n[i] = carry(t[i], l[i], n[i])
			}
			return n
		}
	}
	if reflect.DeepEqual(number(then), number(now)) {
		return runtime.DeepCopyJSONValue(live)
	}
	return now
}

// typed gives an object the form of its built-in type, in place. An object of another type, or one that does not fit its type,
// stays as it is.
func typed(obj *unstructured.Unstructured) {
	if fields, ok, err := builtin.Normalize(obj.GroupVersionKind(), obj.Object); ok && err == nil {
		obj.Object = fields
	}
}
