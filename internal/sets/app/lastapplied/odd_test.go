package lastapplied

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/policy/config"
)

// TestOdd covers objects that no server would accept: they are annotated, nothing breaks or is
// changed.
func TestOdd(t *testing.T) {
	none := &config.Config{}
	for _, text := range []string{
		"{}",
		"{apiVersion: v1, kind: Secret, stringData: {a: 1}, data: [x]}",
		"{apiVersion: v1, kind: Secret, stringData: x}",
		"{apiVersion: v1, kind: Namespace, metadata: null}",
		"{apiVersion: v1, kind: Namespace, metadata: {labels: x, annotations: [a]}}",
		"{apiVersion: v1, kind: Service, spec: {ports: {a: b}, clusterIP: [None]}}",
		"{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {ports: [null, 1, {port: x}], " +
			"type: {a: b}}}",
		"{apiVersion: apps/v1, kind: Deployment, spec: 1}",
		"{apiVersion: apps/v1, kind: Deployment, spec: {strategy: x, template: {spec: {containers: " +
			"[{image: 5, ports: x}, null]}}}}",
		"{apiVersion: apps/v1, kind: DaemonSet, spec: {template: null}}",
		"{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: [{resources: " +
			"{limits: {cpu: much}}}]}}}}",
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {}, spec: " +
			"{names: {kind: 7}}}",
		"{apiVersion: a/b/c, kind: X}",
	} {
		obj := read(t, text)
		for i, existing := range []string{"", text, stored} {
			var live *unstructured.Unstructured
			if existing != "" {
				live = read(t, existing)
			}
			signed, err := Annotate(obj, obj, live, none)
			if err != nil || signed.GetAnnotations() == nil && !strings.Contains(text, "annotations: [a]") {
				t.Errorf("%s, existing %d: %v (%v)", text, i, signed, err)
			}
			if !cmp.Equal(obj, read(t, text)) || live != nil && !cmp.Equal(live, read(t, existing)) {
				t.Errorf("%s, existing %d: an argument was changed", text, i)
			}
			if again, err := amend(signed, obj, none); err != nil {
				t.Errorf("%s: amended to %v (%v)", text, again, err)
			}
		}
	}
}

func BenchmarkAnnotate(b *testing.B) {
	obj := read(
		b,
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: demo}, spec: {selector: {matchLabels: {app: web}},
		template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: nginx:1.27, ports: [{containerPort: 80}]}]}}}}`,
	)
	signed := annotated(b, obj, obj, nil)
	live := predict(signed, nil, rules)
	for name, f := range map[string]func() error{
		"create":       func() error { _, err := Annotate(obj, obj, nil, rules); return err },
		"update":       func() error { _, err := Annotate(obj, obj, live, rules); return err },
		"amend":        func() error { _, err := amend(live, obj, rules); return err },
		"last-applied": func() error { _, _ = Base(live, rules); return nil },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
