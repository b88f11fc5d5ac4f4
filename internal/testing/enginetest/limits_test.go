package enginetest_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// What a Cluster cannot do as a server does it is an error that says so.
func TestLimits(t *testing.T) {
	parse := func(text string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	c := &enginetest.Cluster{}
	c.Put(parse(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget}
  versions:
  - name: v1
    schema: {openAPIV3Schema: {properties: {spec: {x-kubernetes-list-map-keys: [name]}}}}
`))
	widget := parse(`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: n}}`)
	other := parse(`{apiVersion: example.com/v2, kind: Widget, metadata: {name: w, namespace: n}}`)
	expect := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	_, err := c.Write(t.Context(), cluster.Write{Object: widget, Method: cluster.Apply, Manager: "m"})
	expect(err, "lists with keys")
	if _, err := c.Write(t.Context(), cluster.Write{
		Object: widget, Method: cluster.Create, Manager: "m",
	}); err != nil {
		t.Fatal(err)
	}
	_, err = c.Write(t.Context(), cluster.Write{
		Object: other, Method: cluster.Replace, Manager: "m",
	})
	expect(err, "converts no objects")
	_, err = c.Read(t.Context(), []cluster.Target{{Ref: object.RefOf(widget), Version: "v2"}})
	expect(err, "converts no objects")
}
