package deploy

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// TestExclude updates a custom resource server-side beside a field of others that the server does
// not accept together with it: that is in the way, and goes if conflicts are ignored.
func TestExclude(t *testing.T) {
	const feature = "{apiVersion: example.com/v1, kind: Feature, " +
		"metadata: {name: f, namespace: demo}, spec: {source: {%s}}}"
	w := newWorld(t)
	w.cluster.Serve(schema.GroupKind{Group: "example.com", Kind: "Feature"}, true)
	request := func(source string) DeployRequest {
		r := w.request(fmt.Sprintf(feature, source))
		r.Run.ServerSide = true
		return r
	}
	if _, err := w.Deploy(t.Context(), request("file: a")); err != nil {
		t.Fatal(err)
	}
	ref := object.Ref{Group: "example.com", Kind: "Feature", Namespace: "demo", Name: "f"}
	live := w.cluster.Object(ref)
	live.Object["spec"] = map[string]any{"source": map[string]any{"url": "u"}}
	if _, err := w.cluster.Write(t.Context(), cluster.Write{
		Object: live, Method: cluster.Replace, Manager: "others",
	}); err != nil {
		t.Fatal(err)
	}
	d, _, err := w.proposeDeployment(t.Context(), request("file: b"))
	if err != nil {
		t.Fatal(err)
	}
	p := d.run.plan
	if !p.Force {
		t.Error("the apply does not force its fields")
	}
	p.Decider = decider{d.run, t.Context()}
	for i := range p.Steps {
		step := &p.Steps[i]
		if step.Ref != ref {
			continue
		}
		next, ok := p.Exclude(step, []string{"spec.source"})
		if !ok {
			t.Fatal("the field of others stays")
		}
		if len(next.Obstacles) != 1 || !strings.HasSuffix(next.Obstacles[0].Field, ".url") {
			t.Errorf("the obstacles are %v", next.Obstacles)
		}
		return
	}
	t.Fatal("the plan has no step of the object")
}
