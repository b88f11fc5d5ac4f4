package cluster

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
)

const definitionsPath = "GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// definitionOf returns a definition of a kind of example.com with one version.
func definitionOf(name, kind string, served bool) map[string]any {
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"group":    "example.com",
			"names":    map[string]any{"kind": kind},
			"versions": []any{map[string]any{"name": "v1", "served": served}},
		},
	}
}

// A kind that the server does not serve is gone only if no definition of it exists.
func TestReadOfUnservedKinds(t *testing.T) {
	const widgets = "widgets.example.com"
	accepted := definitionOf(widgets, "Widget", true)
	accepted["status"] = map[string]any{"conditions": []any{map[string]any{
		"type": "NamesAccepted", "status": "False", "message": "Widget is in use",
	}}}
	for name, tc := range map[string]struct {
		listed, read any
		want         string // part of the reason why objects may exist; empty if none can
	}{
		"no definition": {listed: page("5", "")},
		"of another kind": {
			listed: page("5", "", definitionOf("others.example.com", "Other", true)),
			read:   definitionOf("others.example.com", "Other", true),
		},
		"of a group with this suffix": {
			listed: page("5", "", definitionOf("widgets.sub.example.com", "Widget", true)),
		},
		"serves no version": {
			listed: page("5", "", definitionOf(widgets, "Widget", false)),
			read:   definitionOf(widgets, "Widget", false),
			want:   "its definition widgets.example.com exists, and serves no version",
		},
		"names not accepted": {
			listed: page("5", "", accepted), read: accepted,
			want: "and its names are not accepted: Widget is in use",
		},
		"renamed": {
			listed: page("5", "", definitionOf(widgets, "Gizmo", true)),
			read:   definitionOf(widgets, "Gizmo", true),
			want:   "and defines the kind Gizmo now",
		},
		"may not be listed": {
			listed: http.StatusForbidden, want: "whether a definition of it exists cannot be found out",
		},
		"may not be read": {
			listed: page("5", "", definitionOf(widgets, "Widget", false)),
			read:   http.StatusForbidden, want: "the definition widgets.example.com cannot be read",
		},
		"deleted meanwhile": {
			listed: page("5", "", definitionOf(widgets, "Widget", false)), read: http.StatusNotFound,
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := &api{groups: kindsOfAPI(), answers: map[string][]any{
				definitionsPath + "?limit=500":          {tc.listed},
				definitionsPath + "/" + widgets:         {tc.read},
				definitionsPath + "/others.example.com": {tc.read},
			}}
			ref := object.Ref{Group: "example.com", Kind: "Widget", Namespace: "n", Name: "w"}
			client := a.start(t)
			found, err := client.Read(t.Context(), []Target{{Ref: ref}, {Ref: ref}})
			if err != nil || !found.Unserved.Has(ref) {
				t.Fatalf("unserved %v, %v", found, err)
			}
			if gone := found.NoKind.Has(ref); gone != (tc.want == "") {
				t.Errorf("gone: %t", gone)
			}
			if err := found.Check(); (err == nil) != (tc.want == "") ||
				err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("doubts: %v", err)
			}
			if asked := a.requests(); len(asked) > 2 {
				t.Errorf("asked %q", asked)
			}
		})
	}
}

// A server lists a kind a moment after its definition is established. A kind without such a
// definition is not waited for.
func TestAwaitKind(t *testing.T) {
	const widgets = "widgets.example.com"
	established := definitionOf(widgets, "Widget", true)
	established["status"] = map[string]any{"conditions": []any{
		map[string]any{"type": "Established", "status": "True"},
	}}
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	for name, tc := range map[string]struct {
		definition map[string]any
		version    string
		served     bool
	}{
		"established":     {definition: established, version: "v1", served: true},
		"not established": {definition: definitionOf(widgets, "Widget", true), version: "v1"},
		"another version": {definition: established, version: "v2"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &api{groups: kindsOfAPI(), answers: map[string][]any{
				definitionsPath + "?limit=500":  {page("5", "", tc.definition)},
				definitionsPath + "/" + widgets: {tc.definition},
			}}
			client := a.start(t)
			if _, err := client.Kind(t.Context(), gvk.GroupKind()); err == nil {
				t.Fatal("the kind is known already")
			}
			// It is listed from the moment at which the definition is read.
			a.hold = func() func() {
				return func() {
					a.mu.Lock()
					defer a.mu.Unlock()
					a.groups["example.com/v1"] = []metav1.APIResource{
						{Name: "widgets", Kind: "Widget", Namespaced: true, Verbs: listing},
					}
				}
			}
			if err := client.AwaitKind(t.Context(), gvk.GroupKind().WithVersion(tc.version)); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Kind(t.Context(), gvk.GroupKind()); (err == nil) != tc.served {
				t.Errorf("served %t, want %t", err == nil, tc.served)
			}
		})
	}
}
