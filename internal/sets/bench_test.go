package sets

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/operation"
)

// BenchmarkUnchanged opens a set of 200 objects, all of which are as they should be, and plans it.
func BenchmarkUnchanged(b *testing.B) {
	const each = 50
	for _, format := range formats {
		b.Run(format, func(b *testing.B) {
			w := newSetWorld(b, format)
			w.server.Serve(schema.GroupKind{Kind: "ServiceAccount"}, true)
			w.server.Serve(schema.GroupKind{Kind: "PodTemplate"}, true)
			var text strings.Builder
			for i := range each {
				fmt.Fprintf(&text, benchObjects, i)
			}
			w.write("objects.yaml", text.String())
			w.mustApply()
			b.ReportAllocs()
			for b.Loop() {
				op, err := w.open().PrepareApply(b.Context(), w.server,
					operation.ApplyOptions{Options: options()})
				if err == nil {
					err = op.MakePlan(b.Context())
				}
				if err != nil || len(op.Plan.Steps) != 4*each {
					b.Fatalf("%d steps, error %v", len(op.Plan.Steps), err)
				}
				for _, step := range op.Plan.Steps {
					if step.Op != plan.Unchanged {
						b.Fatalf("%s: %s", step.Ref, step.Op)
					}
				}
			}
		})
	}
}

// benchObjects are manifests of some kinds; %[1]d is a number.
const benchObjects = `---
apiVersion: v1
kind: ConfigMap
metadata: {name: a-%[1]d, annotations: {example.com/edition: '1'}}
data: {key: value, long: some text that a program reads}
---
apiVersion: v1
kind: Secret
metadata: {name: a-%[1]d, annotations: {example.com/edition: '1'}}
data: {password: bm90LW9uZQ==}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: a-%[1]d, annotations: {example.com/edition: '1'}}
---
apiVersion: v1
kind: PodTemplate
metadata: {name: a-%[1]d, annotations: {example.com/edition: '1'}}
template:
  metadata: {labels: {app: a-%[1]d}}
  spec: {containers: [{name: main, image: "example/web:1"}]}
`
