package config

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

func BenchmarkDefault(b *testing.B) {
	for b.Loop() {
		Default()
	}
}

// deployment returns a live Deployment of typical size.
func deployment(t testing.TB) *unstructured.Unstructured {
	t.Helper()
	return decode(t, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: demo
  uid: 0f1d
  resourceVersion: "100"
  labels: {kapp.k14s.io/app: "1", kapp.k14s.io/association: v1.1, app: web}
  annotations: {kapp.k14s.io/original: "{}", deployment.kubernetes.io/revision: "3"}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: a
        image: a
        env: [{name: A, value: a}, {name: B, value: b}]
        ports: [{containerPort: 80}]
        resources: {limits: {cpu: "1"}}
      - name: b
        image: b
        env: [{name: A, value: a}, {name: B, value: b}]
        ports: [{containerPort: 80}]
        resources: {limits: {cpu: "1"}}
status: {replicas: 3, conditions: [{type: Available, status: "True"}]}
`)[0]
}

// BenchmarkRebase rebases one object by the built-in rules, and by a thousand more for other kinds
// or its own.
func BenchmarkRebase(b *testing.B) {
	for _, bc := range []struct{ name, rules string }{
		{"defaults", ""},
		{"other-kinds", `{type: copy, sources: [new, existing], path: [spec, f%d], ` +
			`resourceMatchers: [{apiVersionKindMatcher: {apiVersion: example.com/v1, kind: K%[1]d}}]}`},
		{"same-kind-other-names",
			`{type: copy, sources: [new, existing], path: [spec, f%d], ` +
				`resourceMatchers: [{kindNamespaceNameMatcher: ` +
				`{kind: Deployment, namespace: demo, name: d%[1]d}}]}`},
		{"annotations", `{type: copy, sources: [new, existing], path: [spec, f%d], ` +
			`resourceMatchers: [{hasAnnotationMatcher: {keys: [example.com/a%[1]d]}}]}`},
		{"copy-from-all", `{type: copy, sources: [new, existing], path: [spec, f%d], ` +
			`resourceMatchers: [{allMatcher: {}}]}`},
		{"remove-from-all", `{type: remove, path: [spec, f%d], ` +
			`resourceMatchers: [{allMatcher: {}}]}`},
		{"containers", `{type: copy, sources: [existing], ` +
			`path: [spec, template, spec, containers, {allIndexes: true}, f%d], ` +
			`resourceMatchers: [{apiGroupKindMatcher: {apiGroup: apps, kind: Deployment}}]}`},
	} {
		b.Run(bc.name, func(b *testing.B) {
			text := "apiVersion: kapp.k14s.io/v1alpha1\nkind: Config\nrebaseRules:\n"
			for i := range 1000 {
				if bc.rules != "" {
					text += "- " + fmt.Sprintf(bc.rules, i) + "\n"
				}
			}
			_, c, err := Extract([]resource.Resource{{Unstructured: decode(b, text)[0]}}, "0.60.0")
			if err != nil {
				b.Fatal(err)
			}
			existing, new := deployment(b), deployment(b)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Rebase(existing, new); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOthers measures the methods that are called for every object.
func BenchmarkOthers(b *testing.B) {
	c, obj := Default(), deployment(b)
	var renames []Rename
	for i := range 1000 {
		target := decode(b, fmt.Sprintf(
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: conf%d, namespace: demo}}", i))[0]
		renames = append(renames, Rename{target, target.GetName(), target.GetName() + "-ver-1"})
	}
	all := c.NewRefRewriter(renames, false)
	for name, f := range map[string]func() error{
		"strip": func() error { return c.StripExisting(obj) },
		"own":   func() error { return c.AddOwnershipLabels(obj, map[string]string{"a": "b"}) },
		"refer": func() error { return all.Rewrite(obj) },
		"order": func() error { c.ChangeGroups(obj); c.ChangeRules(obj); return nil },
		"wait":  func() error { c.Judge(obj); return nil },
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
