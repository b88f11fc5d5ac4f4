package lastapplied

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

func annotated(
	t testing.TB,
	toSend, applied, existing *unstructured.Unstructured,
) *unstructured.Unstructured {
	t.Helper()
	signed, err := Annotate(toSend, applied, existing, rules)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

const configMapText = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: " +
	"demo}\ndata: {key: '<one & \"two\">'}\n"

// TestAnnotate covers what is put on an object, that nothing else is changed, and that a right
// guess needs no second write.
func TestAnnotate(t *testing.T) {
	obj := read(t, configMapText)
	signed := annotated(t, obj, obj, nil)
	want := map[string]string{
		resource.AnnIdentity: "v1;demo//ConfigMap/c;v1",
		resource.AnnOriginal: `{"apiVersion":"v1","data":{"key":"\u003cone \u0026 \"two\"\u003e"},` +
			`"kind":"ConfigMap",` +
			`"metadata":{"name":"c","namespace":"demo"}}`,
		resource.AnnOriginalDiffMD5: "c6e94dc94aed3401b5d0f26ed6c0bff3",
	}
	if diff := cmp.Diff(want, signed.GetAnnotations()); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if !cmp.Equal(obj, read(t, configMapText)) {
		t.Errorf("the argument was changed: %v", obj.Object)
	}
	stored := signed.DeepCopy()
	stored.SetUID("1")
	stored.SetResourceVersion("5")
	if again, err := amend(stored, obj, rules); again != nil || err != nil {
		t.Errorf("a second write: %v (%v)", again, err)
	}
	stored.Object["data"].(map[string]any)["by"] = "a webhook"
	amended, err := amend(stored, obj, rules)
	if err != nil || amended == nil || amended.GetResourceVersion() != "5" {
		t.Fatalf("no second write for a changed object: %v (%v)", amended, err)
	}
	if _, ok := Base(amended, rules); !ok {
		t.Error("the second record is not right")
	}
	if _, ok := Base(stored, rules); ok {
		t.Error("the first record is taken for right")
	}
}

// TestCorrection covers a conflict: the md5 of the first answer goes onto the latest state, which
// is then seen as touched.
func TestCorrection(t *testing.T) {
	obj := read(t, configMapText)
	answer := annotated(t, obj, obj, nil).DeepCopy()
	answer.Object["data"].(map[string]any)["by"] = "a webhook"
	sum, err := Fingerprint(answer, obj, rules)
	if err != nil {
		t.Fatal(err)
	}
	for by, want := range map[string]bool{"a webhook": true, "a controller": false} {
		latest := answer.DeepCopy()
		latest.Object["data"].(map[string]any)["by"] = by
		put, err := Correction(latest, obj, sum, rules)
		if err != nil || put == nil {
			t.Fatal(put, err)
		}
		if _, ok := Base(put, rules); ok != want {
			t.Errorf("changed by %s: untouched %v, want %v", by, ok, want)
		}
		if again, err := Correction(put, obj, sum, rules); again != nil || err != nil {
			t.Errorf("recorded twice: %v", err)
		}
	}
}

// TestUnrecorded covers objects that get no record: by their own wish, and because a server would
// not take it.
func TestUnrecorded(t *testing.T) {
	large := func(size int, annotations string) *unstructured.Unstructured {
		return read(t, "apiVersion: v1\nkind: ConfigMap\n"+
			"metadata: {name: c, annotations: {x: '"+annotations+"'}}\n"+
			"data: {key: '"+strings.Repeat("x", size)+"'}")
	}
	for _, c := range []struct {
		name string
		obj  *unstructured.Unstructured
		want bool
	}{
		{"disabled", read(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, annotations: "+
			"{kapp.k14s.io/disable-original: ''}}"), false},
		{"too large", large(262144, ""), false},
		{"too large together with others", large(200000, strings.Repeat("x", 100000)), false},
		{"just not too large", large(261000, ""), true},
	} {
		signed := annotated(t, c.obj, c.obj, nil)
		if _, has := signed.GetAnnotations()[resource.AnnOriginal]; has != c.want {
			t.Errorf("%s: recorded %v, want %v", c.name, has, c.want)
		}
		if signed.GetAnnotations()[resource.AnnIdentity] == "" {
			t.Errorf("%s: no identity", c.name)
		}
		if amended, err := amend(signed, c.obj, rules); amended != nil || err != nil {
			t.Errorf("%s: a second write (%v)", c.name, err)
		}
		if recordKeys, err := Correction(signed, c.obj, "md5", rules); (recordKeys != nil) != c.want ||
			err != nil {
			t.Errorf("%s: recorded after a conflict: %v (%v)", c.name, recordKeys != nil, err)
		}
	}
}

// TestFailingRules covers that errors of rules name the object. On a prediction they mean that
// nothing is predicted.
func TestFailingRules(t *testing.T) {
	obj := read(t, configMapText)
	failing := failing(t)
	signed, err := Annotate(obj, obj, nil, failing)
	if err != nil || signed.GetAnnotations()[resource.AnnOriginalDiffMD5] != "" {
		t.Errorf("predicted %v, %v", signed.GetAnnotations(), err)
	}
	_, amendErr := amend(obj, obj, failing)
	_, err = Fingerprint(obj, obj, failing)
	for _, err := range []error{amendErr, err} {
		if !isRuleError(err, "configmap/c (v1) namespace: demo") {
			t.Errorf("got error %v", err)
		}
	}
}

// amend returns the second write of an object that the server has stored.
func amend(
	stored, applied *unstructured.Unstructured,
	rules *config.Config,
) (*unstructured.Unstructured, error) {
	sum, err := Fingerprint(stored, applied, rules)
	if err != nil {
		return nil, err
	}
	return Correction(stored, applied, sum, rules)
}
