package sets

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

func historyObject(apiVersion, kind, name string, fields map[string]any) history.Object {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": "shop"},
	}}
	for key, value := range fields {
		obj.Object[key] = value
	}
	return history.Object{Unstructured: obj, Source: name + ".yaml"}
}

// A set is restored from its history alone: without a folder, and without a record. What cannot be
// restored is named.
func TestAtRevision(t *testing.T) {
	server := &enginetest.Cluster{}
	for _, kind := range []string{"ConfigMap", "Secret"} {
		server.Serve(schema.GroupKind{Kind: kind}, true)
	}
	server.Serve(schema.GroupKind{Group: "kpt.dev", Kind: "ResourceGroup"}, true)
	c := server
	set := history.Set{
		Namespace: "shop", Name: "web", Record: "resourcegroup.kpt.dev/web", ID: "id-1",
	}
	s := &history.Store{Cluster: c, Set: set, Limit: 9, Secrets: history.OnlyDigest}
	settings, err := json.Marshal(settings{Plan: policy.Options{
		ServerSide: true, FieldManager: "ann", NoPrune: true,
	}})
	if err != nil {
		t.Fatal(err)
	}
	password := map[string]any{"stringData": map[string]any{"password": "hunter"}}
	taken := object.Ref{Kind: "ConfigMap", Namespace: "shop", Name: "taken"}
	written, err := s.Write(t.Context(), history.Revision{
		Details: history.Details{Settings: settings, Adopted: []object.Ref{taken}},
		Objects: []history.Object{
			historyObject("v1", "ConfigMap", "flags", nil),
			historyObject("v1", "Secret", "same", password),
			historyObject("v1", "Secret", "changed", password),
			historyObject("v1", "Secret", "gone", password),
			historyObject("example.com/v1", "Widget", "w", nil),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"same": "aHVudGVy", "changed": "b3RoZXI="} {
		data := map[string]any{"data": map[string]any{"password": value}}
		server.Put(historyObject("v1", "Secret", name, data).Unstructured)
	}
	r := Request{Record: "web", Namespace: "shop", Notice: func(string) {}}
	restored, err := AtRevision(t.Context(), c, r, s, written.Number)
	if err != nil {
		t.Fatal(err)
	}
	if title := restored.Title(); title != `package "web"` {
		t.Errorf("title %s", title)
	}
	var sources []string
	for _, d := range restored.Desired {
		sources = append(sources, d.Source)
	}
	const of = ".yaml of revision 1"
	want := []string{"flags" + of, "changed" + of, "same" + of}
	if diff := cmp.Diff(want, sources); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	const digested = "only a digest of its data was stored, and "
	losses := []Loss{
		{object.Ref{Kind: "Secret", Namespace: "shop", Name: "changed"}, digested +
			"that of the Secret in the cluster is not known to be the same", true},
		{object.Ref{Kind: "Secret", Namespace: "shop", Name: "gone"}, digested +
			"the Secret does not exist", false},
		{object.Ref{Group: "example.com", Kind: "Widget", Namespace: "shop", Name: "w"},
			"the cluster does not have the kind Widget.example.com any more", false},
	}
	if diff := cmp.Diff(losses, restored.Losses); diff != "" {
		t.Errorf("losses (-want +got):\n%s", diff)
	}
	if err := restored.Check(); err == nil || !strings.HasPrefix(err.Error(),
		"3 objects of revision 1 cannot be restored; nothing was changed\n  shop/secret/changed: ") {
		t.Errorf("check: %v", err)
	}
	o := restored.Options(policy.Options{FieldManager: "muster"})
	if !o.ServerSide || o.FieldManager != "ann" || o.NoPrune || !o.Adopted.Has(taken) {
		t.Errorf("options: %+v", o)
	}
	missing := (*history.NotFoundError)(nil)
	if _, err := AtRevision(t.Context(), c, r, s, 9); !errors.As(err, &missing) {
		t.Errorf("a revision that does not exist: %v", err)
	}
	s.Set.ID = "id-2"
	other := (*OtherSetError)(nil)
	if _, err := AtRevision(t.Context(), c, r, s, 1); !errors.As(err, &other) {
		t.Errorf("a revision of another set: %v", err)
	}
}

func TestHoldsFields(t *testing.T) {
	parse := func(text string) (value any) {
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	for _, tc := range []struct {
		stored, desired string
		want            bool
	}{
		{`{"a":{"b":"1000m","c":1}}`, `{"a":{"b":"1"}}`, true},
		{`{"a":{}}`, `{"a":{"b":"1"}}`, false},
		{`{"a":null}`, `{"a":{"b":"1"}}`, false},
		{`{"a":[{"x":1,"y":2},{"z":1}]}`, `{"a":[{"z":1},{"x":1}]}`, true},
		{`{"a":[{"x":1}]}`, `{"a":[{"x":1},{"x":2}]}`, false},
		{`{"a":[{"x":1}]}`, `{"a":[{"y":1}]}`, false},
	} {
		if got := holdsFields(parse(tc.stored), parse(tc.desired)); got != tc.want {
			t.Errorf("%s has %s: %v", tc.stored, tc.desired, got)
		}
	}
}
