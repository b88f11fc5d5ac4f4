package diff

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestPruneNulls(t *testing.T) {
	const fields = `"kind":"A","list":[null,{"gone":null,"kept":1}],"map":{"gone":null}}`
	for _, tc := range []struct{ before, want string }{
		{`{"apiVersion":"v1",` + strings.Replace(fields, `"A"`, `"Pod"`, 1),
			`{"apiVersion":"v1","kind":"Pod","list":[null,{"kept":1}],"map":{}}`},
		{`{"apiVersion":"example.com/v1","kind":"A","metadata":{"labels":null},"status":null}`,
			`{"apiVersion":"example.com/v1","kind":"A","metadata":{}}`},
	} {
		obj := objectOf(t, tc.before)
		data, err := PruneNulls(obj).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, strings.TrimSpace(string(data))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(objectOf(t, tc.before).Object, obj.Object); diff != "" {
			t.Errorf("the argument was modified (-before +after):\n%s", diff)
		}
	}
	if PruneNulls(nil) != nil {
		t.Error("PruneNulls(nil) is an object")
	}
}

func TestMaskLeavesOthersAlone(t *testing.T) {
	settings := objectOf(t, `{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"}}`)
	foreign := objectOf(t, `{"apiVersion":"example.com/v1","kind":"Secret","data":{"a":"b"}}`)
	for _, pair := range [][2]*unstructured.Unstructured{
		{settings, foreign}, {nil, settings}, {nil, nil},
	} {
		have, want := Mask(pair[0], pair[1])
		if have != pair[0] || want != pair[1] {
			t.Errorf("Mask changed %v or %v", pair[0], pair[1])
		}
	}
}

func TestChangesAndPatchesSurviveJSON(t *testing.T) {
	type document struct {
		Diff  Diff  `json:"diff,omitempty"`
		Patch Patch `json:"patch,omitzero"`
	}
	for _, want := range []document{
		{},
		{
			Diff: Diff{
				{Path: ".spec.on", Kind: Changed, Old: true, New: false},
				{Path: ".data.a", Kind: Added, New: "b"},
			},
			Patch: Patch{
				Type: "application/merge-patch+json",
				Data: json.RawMessage(`{"spec":{"on":false}}`),
			},
		},
	} {
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got document
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
