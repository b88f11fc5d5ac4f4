package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestKindsKeepThePreferredVersionAndAllServedOnes(t *testing.T) {
	found := &kindTable{known: map[schema.GroupKind]Kind{}}
	for _, version := range []string{"v2", "v1"} {
		found.add(&groupVersion{
			GroupVersion: schema.GroupVersion{Group: "autoscaling", Version: version},
			resources: []resource{
				{
					name: "horizontalpodautoscalers", kind: "HorizontalPodAutoscaler",
					namespaced: true,
				},
			},
		})
	}
	want := map[schema.GroupKind]Kind{
		{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: {
			Resource: schema.GroupVersionResource{
				Group:    "autoscaling",
				Version:  "v2",
				Resource: "horizontalpodautoscalers",
			},
			Served:     []string{"v2", "v1"},
			Namespaced: true,
		},
	}
	if diff := cmp.Diff(want, found.known); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

// Of several resources of a kind in one version the one counts whose objects can be used, wherever
// it is in the list.
func TestSeveralResourcesOfAKind(t *testing.T) {
	templates := resource{
		"templates", "Template", true, []string{"create", "delete", "get", "list", "watch"},
	}
	processed := resource{"processedtemplates", "Template", true, []string{"create"}}
	for _, list := range [][]resource{{processed, templates}, {templates, processed}} {
		found := &kindTable{known: map[schema.GroupKind]Kind{}}
		gv := schema.GroupVersion{Group: "template.openshift.io", Version: "v1"}
		found.add(&groupVersion{GroupVersion: gv, resources: list})
		want := Kind{
			Resource: gv.WithResource("templates"), Served: []string{"v1"}, Namespaced: true, Listed: true,
		}
		if diff := cmp.Diff(want, found.known[gv.WithKind("Template").GroupKind()]); diff != "" {
			t.Errorf("kind (-want +got):\n%s", diff)
		}
	}
}

func TestReadable(t *testing.T) {
	kind := Kind{
		Resource: schema.GroupVersionResource{Version: "v2"},
		Served:   []string{"v3", "v2"},
		Pending:  []string{"v4"},
	}
	replaced := Kind{
		Resource: schema.GroupVersionResource{Version: "v4"},
		Served:   []string{"v3", "v2"},
		Pending:  []string{"v4"},
	}
	for _, tc := range []struct {
		kind         Kind
		wanted, want string
	}{
		{kind, "v3", "v3"}, {kind, "v4", "v2"}, {kind, "", "v2"}, {replaced, "v4", "v3"},
		{replaced, "v2", "v2"},
	} {
		if got := tc.kind.readable(tc.wanted); got != tc.want {
			t.Errorf("%s of %v is read in %s, want %s", tc.wanted, tc.kind, got, tc.want)
		}
	}
}

func TestLearn(t *testing.T) {
	gk := schema.GroupKind{Group: "example.com", Kind: "CronTab"}
	served := func(resource string, coming []string, versions ...string) Kind {
		return Kind{
			Resource: schema.GroupVersionResource{
				Group:    "example.com",
				Version:  resource,
				Resource: "crontabs",
			}, Served: versions, Pending: coming,
		}
	}
	crd := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	}
	whole := map[string]any{
		"group": "example.com", "scope": "Namespaced",
		"names": map[string]any{"kind": "CronTab", "plural": "crontabs"},
		"versions": []any{
			map[string]any{"name": "v1alpha1", "served": false},
			map[string]any{"name": "v1", "served": true},
			"nonsense",
		},
	}
	for _, tc := range []struct {
		name  string
		known map[schema.GroupKind]Kind
		crd   *unstructured.Unstructured
		want  map[schema.GroupKind]Kind
	}{
		{"a new kind", nil, crd(whole), map[schema.GroupKind]Kind{gk: {
			Resource: schema.GroupVersionResource{
				Group: "example.com", Version: "v1", Resource: "crontabs",
			},
			Pending: []string{"v1"}, Namespaced: true, Listed: true,
		}}},
		{"a kind that is served just so", map[schema.GroupKind]Kind{
			gk: served("v1", nil, "v1"),
		}, crd(whole),
			map[schema.GroupKind]Kind{gk: served("v1", nil, "v1")}},
		{"one version in place of another", map[schema.GroupKind]Kind{
			gk: served("v0", nil, "v0"),
		}, crd(whole),
			map[schema.GroupKind]Kind{gk: served("v1", []string{"v1"}, "v0")}},
		{"the preferred version goes", map[schema.GroupKind]Kind{
			gk: served("v2", nil, "v2", "v1"),
		}, crd(whole),
			map[schema.GroupKind]Kind{gk: served("v1", nil, "v2", "v1")}},
		{
			"nothing of the kind", nil, crd(map[string]any{"names": "x", "versions": int64(3)}),
			map[schema.GroupKind]Kind{},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			known := map[schema.GroupKind]Kind{}
			for gk, kind := range tc.known {
				known[gk] = kind
			}
			c := &Client{kinds: &kindTable{known: known}}
			if err := c.LearnKind(t.Context(), tc.crd); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, known); diff != "" {
				t.Errorf("kinds (-want +got):\n%s", diff)
			}
		})
	}
}
