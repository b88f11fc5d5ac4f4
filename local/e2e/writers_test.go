package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/local/laws"
	"github.com/muster-deploy/muster/local/webhook"
)

// TestWriters deploys objects into which autoscalers, injectors and webhooks write, in each format
// and write mode: their fields stay, and only what changes in the manifests is changed. The order
// of the steps, and how others write, are random.
func TestWriters(t *testing.T) {
	t.Parallel()
	installResourceGroup(t)
	rounds, seed := seeded(t, roundsEnv, 1)
	hooks, err := webhook.Open()
	check(t, err)
	t.Cleanup(func() { _ = hooks.Close() })
	check(t, hooks.Serve())
	for i := range rounds {
		for f, form := range lawForms {
			t.Run(fmt.Sprintf("%s/%d", form.name, i), func(t *testing.T) {
				inTurn(t)
				w := &written{
					batch: batch{
						t: t, lawForm: form, dir: t.TempDir(),
						namespace: fmt.Sprintf("writers-%d-%d-%d", seed%100000, i, f),
					},
					random: rand.New(rand.NewPCG(seed, i)), hooks: hooks,
				}
				w.run()
			})
		}
	}
}

// written is a set of TestWriters, in a namespace of its own.
type written struct {
	batch
	random *rand.Rand
	hooks  *webhook.Server
	cases  []writerCase // of the members, in their order
	yields bool         // fields are left to controllers
}

// writerCase is an object of writers.yaml.
type writerCase struct {
	Object map[string]any
	Writer struct {
		Manager, Subresource string
		Patch                map[string]any
	}
	Contested string
	Left      bool
	Change    struct {
		Path  string
		Value any
	}
	Remove string
}

// run checks the set, and removes it.
func (w *written) run() {
	check(w.t, createNamespace(w.t.Cleanup, w.namespace))
	check(w.t, writeKubeconfig(filepath.Join(w.dir, "kubeconfig"), w.namespace))
	w.connect()
	w.installWebhooks()
	w.yields = w.random.IntN(2) == 0
	w.readCases()
	w.write(0)
	w.t.Cleanup(w.remove)
	w.apply("a new set", nil)
	for _, i := range w.random.Perm(len(w.cases)) {
		w.writeByOthers(i)
	}
	w.apply("others have written", nil)
	edits := []func(*writerCase, *unstructured.Unstructured) bool{change, remove, handOver}
	for _, i := range w.random.Perm(len(edits)) {
		step := []string{"a change", "a removal", "fields of others removed"}[i]
		w.apply(step, edits[i])
		w.apply("again, after "+step, nil)
	}
	w.destroy()
}

// connect makes the clients of the cluster.
func (w *written) connect() {
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	check(w.t, err)
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	check(w.t, err)
	w.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	w.client, err = dynamic.NewForConfig(config)
	check(w.t, err)
}

// readCases makes the members of the set. Those with fields that a writer keeps only on request are
// left out of a set that does not ask for it.
func (w *written) readCases() {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(scripts, "writers.yaml"))
	check(w.t, err)
	expand := strings.NewReplacer("${NS}", w.namespace, "${CA}", w.hooks.Bundle())
	var cases []writerCase
	check(w.t, yaml.Unmarshal([]byte(expand.Replace(string(text))), &cases))
	for _, c := range cases {
		if c.Contested != "" && !c.Left && !w.yields {
			continue
		}
		obj := &unstructured.Unstructured{}
		check(w.t, obj.UnmarshalJSON(asJSON(w.t, c.Object)))
		if w.isNamespaced(obj) {
			obj.SetNamespace(w.namespace)
		}
		w.cases = append(w.cases, c)
		w.members = append(w.members, &member{
			Kind:     laws.Kind{Object: obj},
			versions: [2]*unstructured.Unstructured{obj, obj},
		})
	}
}

// asJSON returns a value as JSON.
func asJSON(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	check(t, err)
	return text
}

// installWebhooks has the webhook server change objects of the set.
func (w *written) installWebhooks() {
	w.t.Helper()
	configuration := strings.NewReplacer(
		"${NS}", w.namespace, "${URL}", w.hooks.URL(), "${CA}", w.hooks.Bundle(),
	).Replace(webhooksOfWriters)
	file := filepath.Join(w.dir, "webhooks.yaml")
	check(w.t, os.WriteFile(file, []byte(configuration), 0o600))
	runKubectl(w.t, "apply", "-f", file)
	w.t.Cleanup(func() { runKubectl(w.t, "delete", "--wait=false", "-f", file) })
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
			"name": "probe", "labels": map[string]any{"inject": "color"},
		},
	}}
	for { // until the server calls them; a test that hangs is ended
		answer, err := w.resources(probe).Create(w.t.Context(), probe, metav1.CreateOptions{
			DryRun: []string{metav1.DryRunAll},
		})
		check(w.t, err)
		if len(answer.GetLabels()) > 1 {
			return
		}
	}
}

// webhooksOfWriters are the webhooks of a namespace.
const webhooksOfWriters = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: "${NS}"}
webhooks:
- &hook
  name: color.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: "${URL}/add/data/color/red", caBundle: "${CA}"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "${NS}"}}
  objectSelector: {matchLabels: {inject: color}}
- <<: *hook
  name: label.example.com
  clientConfig: {url: "${URL}/add/metadata/labels/owner/web", caBundle: "${CA}"}
- <<: *hook
  name: template.example.com
  clientConfig: {url: "${URL}/inject/mesh", caBundle: "${CA}"}
  rules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]
  objectSelector: {matchLabels: {inject: sidecar}}
- <<: *hook
  name: pod.example.com
  clientConfig: {url: "${URL}/inject/mesh", caBundle: "${CA}"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  objectSelector: {matchLabels: {inject: sidecar}}
`

// writeByOthers has the writer of an object write its fields: by a patch, or as it applies them.
func (w *written) writeByOthers(i int) {
	w.t.Helper()
	writer, obj := w.cases[i].Writer, w.members[i].versions[0]
	if writer.Manager == "" {
		return
	}
	kind, options := types.StrategicMergePatchType, metav1.PatchOptions{FieldManager: writer.Manager}
	patch := writer.Patch
	var subresources []string
	switch {
	case writer.Subresource != "":
		kind, subresources = types.MergePatchType, []string{writer.Subresource}
	case w.random.IntN(2) == 0:
		kind, options.Force = types.ApplyPatchType, new(true)
		patch["apiVersion"], patch["kind"] = obj.GetAPIVersion(), obj.GetKind()
	}
	_, err := w.resources(obj).Patch(w.t.Context(), obj.GetName(), kind, asJSON(w.t, patch),
		options, subresources...)
	check(w.t, err)
}

// The edits of manifests. They report whether there is one.

func change(c *writerCase, obj *unstructured.Unstructured) bool {
	value := c.Change.Value
	if number, ok := value.(float64); ok {
		value = int64(number)
	}
	laws.ParsePath(c.Change.Path).Set(obj.Object, value)
	return true
}

func remove(c *writerCase, obj *unstructured.Unstructured) bool {
	laws.ParsePath(c.Remove).Set(obj.Object, nil)
	return true
}

// handOver removes the contested fields from a manifest, which leaves them to their writer.
func handOver(c *writerCase, obj *unstructured.Unstructured) bool {
	for path := range strings.FieldsSeq(c.Contested) {
		laws.ParsePath(path).Set(obj.Object, nil)
	}
	return false
}

// apply edits the manifests, and applies the set: the fields that the edit is about change, and
// nothing else does. The plan shows them. Without an edit nothing is written, and nothing drifts.
func (w *written) apply(
	when string, edit func(*writerCase, *unstructured.Unstructured) bool,
) {
	w.t.Helper()
	expected := map[string][]string{}
	for i, m := range w.members {
		next := m.versions[0].DeepCopy()
		if edit != nil && edit(&w.cases[i], next) {
			expected[m.key()] = laws.Changed(content(m.versions[0], ""), content(next, ""))
		}
		m.versions = [2]*unstructured.Unstructured{next, next}
	}
	w.write(0)
	before := w.read()
	plan, failed := w.plan("plan", w.source(0), w.writeFlags()...)
	out, errs, code := w.muster("apply", w.source(0), append(w.writeFlags(), "--yes", limit)...)
	if code != 0 || failed != "" {
		w.t.Fatalf("%s: apply ends with exit code %d\n%s\n%s%s", when, code, failed, out, errs)
	}
	w.checkPlan(when, plan, before)
	after := w.read()
	for _, m := range w.members {
		was, is := before[m.key()], after[m.key()]
		if was == nil || is == nil {
			continue // it is created
		}
		changed := laws.Changed(content(was, ""), content(is, ""))
		if want := expected[m.key()]; !slices.Equal(changed, want) {
			w.t.Errorf("%s: %s: %s: %v was changed, want %v", w.name, when, m.key(), changed, want)
		}
		if edit == nil && !reflect.DeepEqual(ownBooks(was), ownBooks(is)) {
			w.t.Errorf("%s: %s: %s was written: %v", w.name, when, m.key(), laws.Changed(was, is))
		}
	}
	if edit != nil {
		return
	}
	if len(before) > 0 && (len(plan) > 0 || !unchangedLine.MatchString(out)) {
		w.t.Errorf("%s: %s: the plan had %v, and apply prints\n%s", w.name, when, plan, out)
	}
	if out, errs, code := w.muster("drift", w.source(0)); code != 0 {
		w.t.Errorf("%s: %s: drift ends with exit code %d\n%s%s", w.name, when, code, out, errs)
	}
}

// ownBooks returns what bookkeeping does, without what the controllers of workloads write.
func ownBooks(obj *unstructured.Unstructured) []any {
	obj = obj.DeepCopy()
	annotations := obj.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool {
		return strings.HasPrefix(key, "deployment.kubernetes.io/")
	})
	obj.SetAnnotations(annotations)
	return bookkeeping(obj)
}

// unchangedLine is what an apply prints that changes nothing.
var unchangedLine = regexp.MustCompile(`(?m)\b0 created, \d+ unchanged, 0 configured, 0 failed\b`)

// writeFlags returns the flags of runs that write the set.
func (w *written) writeFlags() (flags []string) {
	if w.serverSide {
		flags = append(flags, "--server-side")
	}
	if w.yields {
		flags = append(flags, "--conflicts=yield-to-controllers")
	}
	return flags
}
