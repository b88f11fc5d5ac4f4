package kapp

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func liveOf(t *testing.T, text string) live {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

// Objects stand below what they were made for: by owners first, then by kind and name. Owners
// that own each other end nothing.
func TestTree(t *testing.T) {
	service := `{apiVersion: v1, kind: Service, metadata: {namespace: demo, name: web, uid: svc, labels: {kapp.k14s.io/association: v1.a},
		annotations: {kapp.k14s.io/identity: "v1;demo//Service/web;v1"}}}`
	want := []struct {
		name, text string
		depth      int
	}{
		{"web", service, 0},
		{
			"web endpoints",
			`{apiVersion: v1, kind: Endpoints, metadata: {namespace: demo, name: web, uid: ep, labels: ` +
				`{kapp.k14s.io/association: v1.a}}}`,
			1,
		},
		{
			"slice",
			`{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {namespace: demo, name: ` +
				`web-x, uid: slice, labels: {kapp.k14s.io/association: v1.a}, ownerReferences: [{uid: svc}]}}`,
			1,
		},
		{
			"below the slice",
			`{apiVersion: v1, kind: Pod, metadata: {namespace: demo, name: p, uid: pod, labels: ` +
				`{kapp.k14s.io/association: v1.a}, ownerReferences: [{uid: unknown}, {uid: slice}]}}`,
			2,
		},
		{
			"without labels",
			`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: demo, name: a, uid: a}}`,
			0,
		},
		{
			"one of a ring",
			`{apiVersion: v1, kind: Secret, metadata: {namespace: demo, name: b, uid: ring2, ` +
				`ownerReferences: [{uid: ring1}]}}`,
			1,
		},
		{
			"the other",
			`{apiVersion: v1, kind: Secret, metadata: {namespace: demo, name: a, uid: ring1, ` +
				`ownerReferences: [{uid: ring2}]}}`,
			1,
		},
	}
	byUID := map[types.UID]live{}
	for _, w := range want {
		obj := liveOf(t, w.text)
		byUID[obj.GetUID()] = obj
	}
	var groups []string
	for _, w := range want {
		group, depth := groupOf(liveOf(t, w.text), byUID)
		if depth != w.depth {
			t.Errorf("%s stands %d deep in %q, want %d", w.name, depth, group, w.depth)
		}
		groups = append(groups, group)
	}
	if !slices.IsSorted(groups) {
		t.Errorf("not in order: %q", groups)
	}
}
