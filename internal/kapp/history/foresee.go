package history

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// foresee gives what a server will probably store of an object that is sent: what it made of the last version, if that is
// known, then the form that a built-in type has, then the defaults. Metadata that only a server gives is missing; it stands
// on both sides of a fingerprint. existing may be nil. An error is one of the rules.
func foresee(sent, existing *unstructured.Unstructured, rules Rules) (*unstructured.Unstructured, error) {
	out := sent.DeepCopy()
	if existing != nil && !(isKind(sent, "Secret") && sent.Object["stringData"] != nil) {
		base, ok, err := LastApplied(existing, rules)
		if err != nil {
			return nil, err
		}
		if ok {
			carryFields(base.Object, without(existing, recorded...).Object, out.Object)
		}
	}
	before(out)
	typed(out)
	built().apply(out)
	after(out, existing)
	return out, nil
}

// isKind reports whether an object is of a kind of the core group.
func isKind(obj *unstructured.Unstructured, kind string) bool {
	return obj.GetKind() == kind && obj.GetAPIVersion() == "v1"
}

// carryFields changes what is sent, in place, as the server changed what was applied before: where the same value is sent
// again, it becomes the live one.
func carryFields(applied, live, sent map[string]any) {
	for key, value := range live {
		before, wasApplied := applied[key]
		now, isSent := sent[key]
		switch {
		case wasApplied && isSent:
			sent[key] = carry(before, value, now)
		case !wasApplied && !isSent:
			sent[key] = runtime.DeepCopyJSONValue(value)
		}
	}
	for key, before := range applied {
		now, isSent := sent[key]
		if _, isLive := live[key]; !isLive && isSent && reflect.DeepEqual(before, now) {
			delete(sent, key)
		}
	}
}

// carry gives what becomes of one value that is sent.
func carry(applied, live, sent any) any {
	switch s := sent.(type) {
	case map[string]any:
		a, wasFields := applied.(map[string]any)
		l, isFields := live.(map[string]any)
		if wasFields && isFields {
			carryFields(a, l, s)
			return s
		}
	case []any:
		a, _ := applied.([]any)
		l, _ := live.([]any)
		if len(a) == len(s) && len(l) == len(s) {
			for i := range s {
				s[i] = carry(a[i], l[i], s[i])
			}
			return s
		}
	}
	if reflect.DeepEqual(number(applied), number(sent)) {
		return runtime.DeepCopyJSONValue(live)
	}
	return sent
}

// typed gives an object the form of its built-in type, in place: unknown fields and those that are empty go, quantities and
// encoded data are written the one way. An object of another type, or one that does not fit its type, stays as it is.
func typed(obj *unstructured.Unstructured) {
	into, err := scheme.Scheme.New(obj.GroupVersionKind())
	if err != nil {
		return
	}
	converter := runtime.DefaultUnstructuredConverter
	if err := converter.FromUnstructured(obj.Object, into); err != nil {
		return
	}
	if fields, err := converter.ToUnstructured(into); err == nil {
		obj.Object = fields
	}
}
