package diff_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/diff"
)

// TestAfterAdoption: what becomes the applier's before an apply goes if the manifest lacks it.
// Fields of others stay, also in what the manifest lacks as a whole, and defaults come back.
func TestAfterAdoption(t *testing.T) {
	live := parsed(t, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: a
  annotations: {last: "{}"}
  managedFields:
  - manager: me
    operation: Update
    apiVersion: apps/v1
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata: {f:annotations: {.: {}, f:last: {}}}
      f:spec:
        f:paused: {}
        f:replicas: {}
        f:revisionHistoryLimit: {}
        f:template: {f:spec: {f:dnsPolicy: {}, f:nodeSelector: {}, f:containers: {'k:{"name":"main"}': {
          .: {}, f:name: {}, f:image: {}, f:resources: {.: {}, f:requests: {.: {}, f:memory: {}}}}}}}
  - manager: them
    operation: Apply
    apiVersion: apps/v1
    fieldsType: FieldsV1
    fieldsV1:
      f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"main"}': {.: {}, f:name: {},
        f:resources: {f:requests: {f:cpu: {}}}}}}}}
spec:
  paused: true
  replicas: 3
  revisionHistoryLimit: 10
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      dnsPolicy: ClusterFirst
      nodeSelector: {disk: ssd}
      containers:
      - {name: main, image: "a:1", resources: {requests: {cpu: 250m, memory: 1Gi}}}
`)
	want := parsed(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec: {template: {spec: {containers: [{name: main, image: "a:1"}]}}}
`)
	answer := live.DeepCopy() // an apply without adoption removes nothing
	by := diff.Applier{Manager: "me", Updates: true}
	result, err := diff.AfterAdoption(answer, want, live, by, "last")
	if err != nil {
		t.Fatal(err)
	}
	result.SetManagedFields(nil)
	expected := parsed(t, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: a
  annotations: {last: "{}"}
spec:
  replicas: 1
  revisionHistoryLimit: 10
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      dnsPolicy: ClusterFirst
      containers:
      - {name: main, image: "a:1", resources: {requests: {cpu: 250m}}}
`)
	got, err := yaml.Marshal(result.Object)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(expected.Object)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(text) {
		t.Errorf("the object is\n%swant\n%s", got, text)
	}
	if _, has := live.Object["spec"].(map[string]any)["paused"]; !has {
		t.Error("the live object was changed")
	}
}
