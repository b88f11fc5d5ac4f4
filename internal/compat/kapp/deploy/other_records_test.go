package deploy

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/plan"
)

// A namespace is not deleted if it holds the record of another app or of a package.
func TestNamespaceWithOtherRecords(t *testing.T) {
	const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shared}}"
	const text = "Expected namespaces that are deleted to hold no records of others, but namespace " +
		"'shared' holds the record of "
	for _, tc := range []struct{ name, other, err string }{
		{"nothing of others", "", ""},
		{"a ConfigMap", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shared}}", ""},
		{"an app", "{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: shared, " +
			"labels: {kapp.k14s.io/is-app: ''}}, data: {spec: '{}'}}", text + "app 'other' (hint: "},
		{"a package", "{apiVersion: kpt.dev/v1alpha1, kind: ResourceGroup, metadata: {name: p, " +
			"namespace: shared}}", text + "package 'p' (hint: "},
		{"a package with an inventory of the old format", "{apiVersion: v1, kind: ConfigMap, metadata: " +
			"{name: old, namespace: shared, labels: {cli-utils.sigs.k8s.io/inventory-id: x}}}",
			text + "package 'old' (hint: "},
	} {
		for _, deletes := range []bool{false, true} {
			t.Run(tc.name, func(t *testing.T) {
				w := newWorld(t)
				w.cluster.Serve(namespaceKind, false)
				w.deploy(configMap("a", "1"), namespace)
				if tc.other != "" {
					w.put(tc.other)
				}
				before := w.objects()
				var err error
				if deletes {
					_, err = w.Delete(t.Context(), w.deleteRequest())
				} else {
					_, err = w.Deploy(t.Context(), w.request(configMap("a", "1")))
				}
				checkError(t, err, tc.err)
				if tc.err != "" {
					check(t, "objects", w.objects(), before)
				}
			})
		}
	}
}

// The definition of ResourceGroups is not deleted with the record of a package in it, unless it
// stays in the cluster.
func TestDefinitionOfOtherRecords(t *testing.T) {
	const group = "{apiVersion: kpt.dev/v1alpha1, kind: ResourceGroup, metadata: {name: p, " +
		"namespace: shared}}"
	const text = "Expected the kind ResourceGroup.kpt.dev not to be deleted with the records of " +
		"others, but package 'p' has its record in it (hint: "
	for _, tc := range []struct{ name, other, annotations, err string }{
		{"no package", "", "{}", ""},
		{"a package", group, "{}", text},
		{"a package, and it stays", group, "{kapp.k14s.io/delete-strategy: orphan}", ""},
	} {
		for _, deletes := range []bool{false, true} {
			t.Run(tc.name, func(t *testing.T) {
				w := newWorld(t)
				w.cluster.Serve(plan.DefinitionKind, false)
				w.cluster.Serve(packageRecords[0].kind, true)
				first := w.request(configMap("a", "1"), "{apiVersion: apiextensions.k8s.io/v1, kind: "+
					"CustomResourceDefinition, metadata: {name: resourcegroups.kpt.dev, annotations: "+
					tc.annotations+"}, spec: {group: kpt.dev, names: {kind: ResourceGroup}}}")
				first.Run.Wait = false // nobody serves the kind
				if _, err := w.Deploy(t.Context(), first); err != nil {
					t.Fatal(err)
				}
				if tc.other != "" {
					w.put(tc.other)
				}
				before := w.objects()
				var err error
				if deletes {
					_, err = w.Delete(t.Context(), w.deleteRequest())
				} else {
					_, err = w.Deploy(t.Context(), w.request(configMap("a", "1")))
				}
				checkError(t, err, tc.err)
				if tc.err != "" {
					check(t, "objects", w.objects(), before)
				}
			})
		}
	}
}

// listless is a cluster in which a kind cannot be listed.
type listless struct {
	cluster.Writer
	kind schema.GroupKind
	err  error
}

func (c *listless) List(
	ctx context.Context, gk schema.GroupKind, namespace string, labels map[string]string,
) ([]*unstructured.Unstructured, error) {
	if gk == c.kind && namespace == "shared" {
		return nil, c.err
	}
	return c.Writer.List(ctx, gk, namespace, labels)
}

// A namespace may hold records of others if these cannot be listed, whatever the reason. A kind
// that does not exist has none.
func TestNamespaceWithUnlistableRecords(t *testing.T) {
	const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shared}}"
	group := packageRecords[0].kind
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errTest)
	for _, tc := range []struct {
		kind schema.GroupKind
		err  error
		want string
	}{
		{group, forbidden, "namespace 'shared' may hold the record of a package"},
		{configMapKind, forbidden, "namespace 'shared' may hold the record of an app"},
		{group, &cluster.UnknownKindError{GroupKind: group, Cause: errTest}, "may hold the record"},
		{group, &cluster.UnknownKindError{GroupKind: group}, ""},
	} {
		w := newWorld(t)
		w.cluster.Serve(namespaceKind, false)
		w.deploy(configMap("a", "1"), namespace)
		w.Client.Cluster = &listless{w.cluster, tc.kind, tc.err}
		w.Records.Cluster = w.Client.Cluster
		_, err := w.Delete(t.Context(), w.deleteRequest())
		checkError(t, err, tc.want)
	}
}
