package cluster

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func jsonCodec(dropManagedFields bool) runtime.Serializer {
	return codecs{dropManagedFields}.SupportedMediaTypes()[0].Serializer
}

// TestCodecReadsAsTheLibraryDoes compares the codec with the library's one for objects of any kind.
func TestCodecReadsAsTheLibraryDoes(t *testing.T) {
	for _, text := range []string{
		`{"apiVersion":"v1","kind":"ConfigMap",` +
			`"metadata":{"name":"a","managedFields":[{"manager":"m"}]},"data":{"a":"b"}}`,
		`{"kind":"ConfigMap"}`, `{"apiVersion":"v1"}`, `{}`, `[]`, `nonsense`, ``,
		`{"apiVersion":"v1","kind":"Status","status":"Failure"}`,
	} {
		var want, got unstructured.Unstructured
		_, _, wantErr := unstructured.UnstructuredJSONScheme.Decode([]byte(text), nil, &want)
		_, _, err := jsonCodec(false).Decode([]byte(text), nil, &got)
		if (err == nil) != (wantErr == nil) ||
			errors.Is(err, errNoKind) != runtime.IsMissingKind(wantErr) {
			t.Errorf("%s: %v, the library: %v", text, err, wantErr)
		}
		if diff := cmp.Diff(want, got); diff != "" && err == nil {
			t.Errorf("%s (-library +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{
		`{"apiVersion":"apps/v1","kind":"DeploymentList","metadata":{"continue":"c"},` +
			`"items":[{"metadata":{"name":"a"}},{"apiVersion":"apps/v1beta1","kind":"Deployment"}]}`,
		`{"apiVersion":"v1","kind":"List","items":null}`,
		`{"apiVersion":"v1","kind":"Things","items":[{}]}`,
		`{"apiVersion":"v1","kind":"List","items":[1]}`, `{"items":[]}`,
	} {
		var want, got unstructured.UnstructuredList
		_, _, wantErr := unstructured.UnstructuredJSONScheme.Decode([]byte(text), nil, &want)
		_, _, err := jsonCodec(false).Decode([]byte(text), nil, &got)
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %v, the library: %v", text, err, wantErr)
		}
		if diff := cmp.Diff(want, got); diff != "" && err == nil {
			t.Errorf("%s (-library +got):\n%s", text, diff)
		}
	}
}

// An answer without a kind may be a Secret, so that its content is not part of an error.
func TestCodecQuotesNoAnswer(t *testing.T) {
	for _, text := range []string{
		`{"apiVersion": "v1", "data": {"password": "c2VjcmV0"}}`,
		`{"kind": "Secret", "data": {"password": "c2VjcmV0"}}`, `{"items": [{"data": "c2VjcmV0"}]}`,
		`{"data": "c2VjcmV0"`,
	} {
		for _, into := range []runtime.Object{
			nil, &unstructured.Unstructured{}, &unstructured.UnstructuredList{}, &metav1.Status{},
		} {
			_, _, err := jsonCodec(false).Decode([]byte(text), nil, into)
			if err != nil && strings.Contains(err.Error(), "c2VjcmV0") {
				t.Errorf("%s into %T: %v", text, into, err)
			}
		}
	}
}

// An answer that is not a list is no list without objects, since they would count as absent.
func TestListIsCertain(t *testing.T) {
	for _, text := range []string{
		`{"apiVersion":"v1","kind":"Status","status":"Success"}`, `{"apiVersion":"v1","kind":"List"}`,
		`{"apiVersion":"v1","kind":"List","items":{}}`, `{"apiVersion":"v1","kind":"Pod","items":null}`,
	} {
		var list unstructured.UnstructuredList
		if _, _, err := jsonCodec(false).Decode([]byte(text), nil, &list); err == nil {
			t.Errorf("%s counts as a list", text)
		}
		api := &api{answers: map[string][]any{"GET /api/v1/namespaces?limit=500": {text}}}
		if _, err := api.start(t).listNames(t.Context(), "/api/v1/namespaces"); err == nil &&
			!strings.Contains(text, "List") {
			t.Errorf("%s counts as a list of metadata", text)
		}
	}
}

func TestCodecDropsManagedFields(t *testing.T) {
	var obj unstructured.Unstructured
	text := `{"apiVersion":"v1","kind":"ConfigMap",` +
		`"metadata":{"name":"a","managedFields":[{"manager":"m"}]}}`
	if _, _, err := jsonCodec(true).Decode([]byte(text), nil, &obj); err != nil ||
		obj.GetManagedFields() != nil ||
		obj.GetName() != "a" {
		t.Errorf("%v, %v", obj, err)
	}
}

// TestCodecReadsRefusals reads a Status in place of an object, alone and in a watch.
func TestCodecReadsRefusals(t *testing.T) {
	status := `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Gone","code":410}`
	out, _, err := jsonCodec(true).Decode(
		[]byte(status), &schema.GroupVersionKind{Version: "v1"}, nil,
	)
	if err != nil || !apierrors.IsGone(apierrors.FromObject(out)) {
		t.Errorf("%v, %v", out, err)
	}
	var event metav1.WatchEvent
	if _, _, err := jsonCodec(true).Decode(
		[]byte(`{"type":"ERROR","object":`+status+`}`), nil, &event,
	); err != nil ||
		string(event.Object.Raw) != status {
		t.Errorf("%v, %v", event, err)
	}
	if out, _, err := jsonCodec(true).Decode([]byte("404 page not found"), nil, nil); err == nil {
		t.Errorf("a page that is no JSON is read as %v", out)
	}
	text := `{"apiVersion":"v1","kind":"ConfigMap","items":[]}`
	out, _, err = jsonCodec(true).Decode([]byte(text), nil, nil)
	obj, ok := out.(*unstructured.Unstructured)
	if err != nil || !ok || obj.GetKind() != "ConfigMap" {
		t.Errorf("%v, %v", out, err)
	}
}

func TestCodecWrites(t *testing.T) {
	for _, tc := range []struct {
		obj  runtime.Object
		want string
	}{
		{
			&unstructured.Unstructured{
				Object: map[string]any{"kind": "A", "b": "<&>", "n": int64(1)},
			},
			`{"b":"\u003c\u0026\u003e","kind":"A","n":1}` + "\n",
		},
		{&unstructured.Unstructured{Object: map[string]any{"c": nil}}, `{"c":null}` + "\n"},
		{
			&metav1.DeleteOptions{DryRun: []string{"All"}},
			`{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}` + "\n",
		},
	} {
		c := codecs{}
		var out bytes.Buffer
		encoder := c.EncoderForVersion(c.SupportedMediaTypes()[0].Serializer, nil)
		if err := encoder.Encode(tc.obj, &out); err != nil || out.String() != tc.want {
			t.Errorf("%s, %v; want %s", out.String(), err, tc.want)
		}
	}
}
