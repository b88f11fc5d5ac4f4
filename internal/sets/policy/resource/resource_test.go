package resource

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func service(identity string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "web",
			"namespace": "demo"},
	}}
	if identity != "" {
		obj.SetAnnotations(map[string]string{AnnIdentity: identity})
	}
	return obj
}

// TestFormats compares with what kapp 0.60 wrote on a Service demo/web.
func TestFormats(t *testing.T) {
	obj := service("")
	for _, c := range []struct{ got, want string }{
		{Describe(obj), "service/web (v1) namespace: demo"},
		{Key(obj), "demo//Service/web"},
		{Association(Key(obj)), "v1.49f0da33b0818f8cd668bea0af73d11d"},
		{Identity(obj), "v1;demo//Service/web;v1"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

func TestTransient(t *testing.T) {
	for identity, want := range map[string]bool{
		"": true, "v1;demo//Service/web;v1": false, "v1;demo//Endpoints/web;v1": true,
		"v2;demo//Service/web;v1": true,
	} {
		if got := IsTransient(service(identity)); got != want {
			t.Errorf("identity %q: transient %v, want %v", identity, got, want)
		}
	}
}

func TestGenerateName(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"generateName": "run-"},
	}}
	if got, want := Describe(obj), "job/run-* (batch/v1) cluster"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := Key(obj), "/batch/Job/run-*"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDeployedVersion(t *testing.T) {
	for identity, want := range map[string]string{
		"": "", "v1;demo//Service/web;v1": "v1", "v1;demo/apps/Deployment/web": "",
	} {
		if got := DeployedVersion(service(identity)); got != want {
			t.Errorf("identity %q: version %q, want %q", identity, got, want)
		}
	}
}
