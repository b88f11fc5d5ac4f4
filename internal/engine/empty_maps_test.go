package engine_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// TestEmptyMaps applies an object, server-side, whose map loses all its content: the server refuses
// that, as it would set the map to null, unless the content is taken out before. A run that the
// server would refuse for another reason changes nothing.
func TestEmptyMaps(t *testing.T) {
	for _, refused := range []bool{false, true} {
		for _, dry := range []engine.DryRun{engine.DryRunNone, engine.DryRunServer} {
			w := newWorld(&enginetest.Cluster{})
			live, wanted := boat("length"), boat("length")
			live.SetAnnotations(map[string]string{"owner": "me"})
			live.Object["sail"], wanted.Object["sail"] = map[string]any{"b": int64(1)}, map[string]any{}
			live.SetManagedFields([]metav1.ManagedFieldsEntry{{
				Manager: "me", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "example.com/v1",
				FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1(`{"f:length":{},"f:sail":{"f:b":{}},` +
					`"f:metadata":{"f:annotations":{"f:owner":{}}}}`),
			}})
			w.Put(live)
			ref := object.RefOf(live)
			invalid := apierrors.NewInvalid(live.GroupVersionKind().GroupKind(), "nelly", nil)
			content := func() map[string]any {
				sail, _ := w.Object(ref).Object["sail"].(map[string]any)
				return sail
			}
			server := policy()
			server.ServerSide, server.Manager = true, "me"
			w.Answers = map[object.Ref][]error{ref: {invalid}} // the apply with the content
			if refused {
				w.Answers[ref] = append(w.Answers[ref], invalid)
			}
			summary, err := w.apply(t.Context(), server, engine.Options{DryRun: dry}, want(wanted)...)
			if err != nil || (summary.Failures() > 0) != refused {
				t.Errorf("refused %t, %s: %+v, %v", refused, dry, summary, err)
			}
			if (len(content()) == 0) != (dry == engine.DryRunNone && !refused) {
				t.Errorf("refused %t, %s: the map has %v", refused, dry, content())
			}
			if text := sentOf(w.Sent); dry == engine.DryRunNone && !refused &&
				text != "patch dry, patch, apply" {
				t.Errorf("sent: %s", text)
			}
		}
	}
}

// sentOf returns the writes of an object, in order.
func sentOf(all []cluster.Write) string {
	var words []string
	for _, w := range all {
		if w.Object.GetKind() != "Boat" {
			continue
		}
		word := string(w.Method)
		if w.DryRun {
			word += " dry"
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}
