package diff

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDiffering creates patches for random changes of objects, with and without the fields that are
// the same.
func TestDiffering(t *testing.T) {
	h := &history{rand: rand.New(rand.NewPCG(1, 1))}
	for _, text := range []string{
		`
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, labels: {app: a, tier: web}, annotations: {a: "1", b: "2"}}
spec:
  replicas: 3
  unknown: {a: {b: 1}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 25%}}
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      nodeSelector: {zone: a}
      volumes: [{name: v, configMap: {name: c}}, {name: w, emptyDir: {medium: Memory}}]
      containers:
      - {name: a, image: a, args: [x, y], env: [{name: A, value: a}, {name: B, value: b}]}
      - {name: b, image: b, ports: [{containerPort: 80}]}
`, `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: a, finalizers: [a/b, c/d]}
spec: {minAvailable: 1, selector: {matchLabels: {app: a, tier: web}}}
`, `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, ownerReferences: [{uid: "1", name: a}, {uid: "2", name: b}]}
data: {a: "1", b: "2"}
`,
	} {
		base := objectOf(t, text)
		m := mergeFor(base)
		for range 2000 {
			in := sides{want: h.mutated(base, h.rand.IntN(3)).Object,
				live: h.mutated(base, h.rand.IntN(3)).Object}
			if h.rand.IntN(5) > 0 {
				in.recorded = h.mutated(base, h.rand.IntN(3)).Object
			}
			in, _, _ = splitLists(in, m.meta)
			expected, wantErr := m.createWhole(in)
			got, err := m.create(in)
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("error %v, want %v", err, wantErr)
			}
			if len(got)+len(expected) > 0 && !cmp.Equal(expected, got) {
				t.Fatalf("%+v\npatch (-want +got):\n%s", in, cmp.Diff(expected, got))
			}
		}
	}
}
