package sets

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/compat/kapp/change"
	"github.com/muster-deploy/muster/internal/compat/kapp/deploy"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/input"
	"github.com/muster-deploy/muster/internal/sets/input/files"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// kapp returns what kapp would do with the same manifests, as in "m: update"; empty for nothing.
func (w *setWorld) kapp() string {
	w.t.Helper()
	s, c := w.open().(*appSet), w.server
	resources, err := files.Resolve(w.t.Context(), c, s.objects, s.request.scope(), s.request.warn)
	if err != nil {
		w.t.Fatal(err)
	}
	var manifests, all []string
	for _, r := range resources {
		text, err := r.MarshalJSON()
		if err != nil {
			w.t.Fatal(err)
		}
		manifests = append(manifests, string(text))
	}
	kapp := &deploy.Client{Client: *s.client(c)}
	_, err = kapp.Deploy(w.t.Context(), deploy.DeployRequest{
		App: s.name(), ScopeSelectors: true, AllowEmpty: true, Adopt: true,
		Input: input.Options{
			Files: []string{"-"}, Stdin: strings.NewReader(strings.Join(manifests, "\n---\n")),
		},
		Run: deploy.RunOptions{UseLastApplied: true, Wait: true},
		Review: deploy.Review{DryRun: true, Print: func(r *deploy.Run) error {
			for _, c := range r.Changes() {
				if op := c.ApplyOp(); op == change.Add || op == change.Update || op == change.Delete {
					all = append(all, fmt.Sprintf("%s: %s", c.Object().GetName(), op))
				}
			}
			return nil
		}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Join(all, ", ")
}

// afterKinds are manifests of two versions; others have set the third.
var afterKinds = map[string][3]string{
	"ConfigMap": {
		"metadata: {name: m, labels: {a: '1'}, annotations: {b: '1'}}\ndata: {x: '1', y: '1'}",
		"metadata: {name: m}\ndata: {x: '2'}",
		"metadata: {labels: {theirs: '1'}, annotations: {theirs: '1'}}\ndata: {z: '1'}",
	},
	"Secret": {
		"metadata: {name: m}\ntype: Opaque\ndata: {x: MQ==}\nstringData: {s: text, t: text}",
		"metadata: {name: m}\ntype: Opaque\ndata: {x: Mg==}\nstringData: {s: other}",
		"metadata: {labels: {theirs: '1'}}\ndata: {z: MQ==}",
	},
	"Service": {
		"metadata: {name: m}\nspec: {selector: {app: m}, ports: [{port: 80, name: http}, {port: 81, " +
			"name: more}]}",
		"metadata: {name: m}\nspec: {selector: {app: m}, ports: [{port: 80, name: http, " +
			"targetPort: 8080}]}",
		"metadata: {labels: {theirs: '1'}}\nspec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], " +
			"ipFamilies: [IPv4], ipFamilyPolicy: SingleStack}",
	},
	"Deployment": {
		"metadata: {name: m}\nspec: {replicas: 2, selector: {matchLabels: {app: m}}, template: {" +
			"metadata: {labels: {app: m}}, spec: {containers: [{name: c, " +
			"image: c:1, resources: {limits: {cpu: 0.5, memory: 1Gi}}, env: [{name: A, value: '1'}]}]}}}",
		"metadata: {name: m}\nspec: {replicas: 3, selector: {matchLabels: {app: m}}, template: {" +
			"metadata: {labels: {app: m}}, spec: {containers: [{name: c, " +
			"image: c:2, resources: {}, ports: [{containerPort: 80}]}]}}, strategy: {}}",
		"metadata: {annotations: {deployment.kubernetes.io/revision: '1'}}\n" +
			"status: {observedGeneration: 1, replicas: 2}",
	},
}

// TestKappAfter: whenever the manifests are the same, kapp has nothing to do after native applies.
func TestKappAfter(t *testing.T) {
	type world struct {
		*setWorld
		kind     string
		run      func(version int, serverSide bool)
		edit     func()
		addLabel func(*unstructured.Unstructured)
	}
	scenarios := map[string]func(w *world, ssa bool){
		"create": func(w *world, ssa bool) { w.run(0, ssa) },
		"update": func(w *world, ssa bool) { w.run(0, ssa); w.run(1, ssa) },
		"update of what others changed": func(w *world, ssa bool) {
			w.run(0, ssa)
			w.edit()
			w.run(1, ssa)
		},
		"back": func(w *world, ssa bool) { w.run(0, ssa); w.edit(); w.run(1, ssa); w.run(0, ssa) },
		"another mode": func(w *world, ssa bool) {
			w.run(0, ssa)
			w.edit()
			w.run(1, !ssa)
		},
		"a server that adds labels": func(w *world, ssa bool) {
			w.server.Stores = w.addLabel
			w.run(0, ssa)
			w.run(1, ssa)
		},
		"a server that adds labels at last": func(w *world, ssa bool) {
			w.run(0, ssa)
			w.server.Stores = w.addLabel
			w.run(1, ssa)
		},
		"adoption": func(w *world, ssa bool) {
			w.server.Put(w.parse(manifestOf(w.kind, afterKinds[w.kind][0], "namespace: demo, ")))
			w.edit()
			w.run(1, ssa)
		},
		"adoption of what the server changes": func(w *world, ssa bool) {
			w.server.Put(w.parse(manifestOf(w.kind, afterKinds[w.kind][0], "namespace: demo, ")))
			w.server.Stores = w.addLabel
			w.run(1, ssa)
		},
		"adoption of the same": func(w *world, ssa bool) {
			w.server.Put(w.parse(manifestOf(w.kind, afterKinds[w.kind][0], "namespace: demo, ")))
			w.edit()
			w.run(0, ssa)
		},
		"adoption from kubectl": func(w *world, ssa bool) {
			obj := w.parse(manifestOf(w.kind, afterKinds[w.kind][0], "namespace: demo, "))
			text, _ := obj.MarshalJSON()
			annotations := obj.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations["kubectl.kubernetes.io/last-applied-configuration"] = string(text)
			obj.SetAnnotations(annotations)
			w.server.Put(obj)
			w.edit()
			w.run(1, ssa)
		},
	}
	for kind := range afterKinds {
		for name, scenario := range scenarios {
			for _, ssa := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/%t", kind, name, ssa), func(t *testing.T) {
					w := &world{setWorld: newSetWorld(t, KindApp), kind: kind}
					c := configCase{Kind: kind}
					ref := c.ref()
					w.server.Serve(schema.GroupKind{Group: ref.Group, Kind: ref.Kind}, true)
					w.edit = func() {
						obj := w.server.Object(ref).DeepCopy()
						mergeFields(obj.Object, w.parse(afterKinds[kind][2]).Object)
						w.server.Put(obj)
					}
					w.addLabel = func(obj *unstructured.Unstructured) {
						if obj.GetName() == "m" {
							obj.SetLabels(withKey(obj.GetLabels(), "added"))
						}
					}
					w.run = func(version int, serverSide bool) {
						w.write("m.yaml", manifestOf(kind, afterKinds[kind][version],
							"annotations: {muster.dev/wait: 'false'}, "))
						_, summary, err := w.apply(t.Context(), func(o *policy.Options) {
							o.ServerSide, o.Conflicts, o.InventoryPolicy = serverSide, plan.TakeAll, "adopt"
						})
						if err != nil || summary.Failures() > 0 {
							t.Fatalf("%d failures, error %v", summary.Failures(), err)
						}
					}
					scenario(w, ssa)
					if got := w.kapp(); got != "" {
						obj := w.server.Object(ref)
						t.Errorf("kapp: %s\n%s", got, yamlText(t, obj.Object))
					}
				})
			}
		}
	}
}

// parse reads an object, with whole numbers.
func (w *setWorld) parse(text string) *unstructured.Unstructured {
	w.t.Helper()
	obj, fields := &unstructured.Unstructured{}, map[string]any{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = utiljson.Unmarshal(data, &fields)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	obj.Object = fields
	return obj
}

// manifestOf returns a manifest with more metadata.
func manifestOf(kind, text, metadata string) string {
	if strings.Contains(text, "annotations: {") {
		metadata = strings.Replace(metadata, "annotations: {muster.dev/wait: 'false'}, ", "", 1)
	}
	return "apiVersion: " + apiVersions[kind] + "\nkind: " + kind + "\n" +
		strings.Replace(text, "metadata: {name", "metadata: {"+metadata+"name", 1)
}
