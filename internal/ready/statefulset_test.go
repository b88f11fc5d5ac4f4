package ready

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestTakenBack judges the states of a StatefulSet that had updated one of three replicas above its
// partition, from the moment on in which its controller has seen the earlier template again. The
// replicas below the partition are of that one. Ready ones that are ending count as ready.
func TestTakenBack(t *testing.T) {
	states := []struct{ have, ready, current, updated int }{
		{3, 3, 1, 2}, {3, 3, 2, 2}, {3, 2, 2, 2}, {2, 2, 2, 2}, {3, 2, 3, 3}, {3, 3, 3, 3},
	}
	for i, s := range states {
		obj := &unstructured.Unstructured{}
		text, err := yaml.YAMLToJSON(fmt.Appendf(nil, `{apiVersion: apps/v1, kind: StatefulSet,
			metadata: {name: db, namespace: demo, generation: 3},
			spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}},
			status: {observedGeneration: 3, currentRevision: db-1, updateRevision: db-1, replicas: %d,
			readyReplicas: %d, currentReplicas: %d, updatedReplicas: %d}}`,
			s.have, s.ready, s.current, s.updated))
		if err != nil {
			t.Fatal(err)
		}
		if err := obj.UnmarshalJSON(text); err != nil {
			t.Fatal(err)
		}
		want := InProgress
		if i == len(states)-1 {
			want = Current
		}
		if got := Of(obj); got.State != want {
			t.Errorf("%+v is %s: %s", s, got.State, got.Message)
		}
	}
}
