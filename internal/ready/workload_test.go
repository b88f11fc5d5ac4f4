package ready

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// The pods of a DaemonSet on nodes that should have none do not hold it up: they are not replaced.
func TestMisscheduledPods(t *testing.T) {
	for name, tc := range map[string]struct {
		status string
		trial  bool
	}{
		"a pod of a node that should have one": {`{desiredNumberScheduled: 1}`, true},
		"a pod of a node that should have none": {
			`{desiredNumberScheduled: 1, numberMisscheduled: 1}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			obj, pods := read(t, `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, uid: a},
				status: `+tc.status+`}`), NewPodSet()
			for node, ready := range map[string]string{"near": "True", "lost": "False"} {
				pods.Add(RunsOf(read(t, `{apiVersion: v1, kind: Pod, metadata: {name: `+node+`,
					ownerReferences: [{kind: DaemonSet, name: a, uid: a, controller: true}]},
					status: {phase: Running, conditions: [{type: Ready, status: "`+ready+`"}]}}`)))
			}
			if trial := WorkloadOf(obj).Trial(pods, time.Now()); (trial != nil) != tc.trial {
				t.Errorf("trial %v", trial)
			}
		})
	}
}

// read returns an object from YAML, which may have tabs.
func read(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "\t", " ")), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}
