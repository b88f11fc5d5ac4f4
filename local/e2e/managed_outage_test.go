package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// outageEnv is the environment variable for the number of seconds without an API server.
const outageEnv = "MUSTER_E2E_OUTAGE"

// TestControllerOutage ends the API server for longer than the lock of a set and the Lease of a
// leader last, while some Sets are at rest and others in the middle of a rollout. Controllers that
// elect a leader end, and are started again; one that does not survives. Afterwards every rollout
// is finished, what had been written is not written again, and what others changed right after is
// put back. The plane is shared: nothing may run beside it.
func TestControllerOutage(t *testing.T) {
	installController(t)
	down := time.Duration(fromEnv(t, outageEnv, 30)) * time.Second
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	check(t, err)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	check(t, err)
	var groups []*outageGroup
	for _, elects := range []bool{true, false} {
		groups = append(groups, newOutageGroup(t, client, elects))
	}
	for _, g := range groups {
		g.await("is in the middle of its rollout", g.isMidway)
		g.before = g.versions()
		g.noteLeaders()
	}
	check(t, kill("kube-apiserver"))
	time.Sleep(down)
	check(t, startPlane(t.Context()))
	back := time.Now()
	for _, g := range groups {
		g.checkReplicas()
		g.drift()
		g.release()
	}
	for _, g := range groups {
		g.await("is ready", func(name string) (bool, string) {
			return isKept(t, client, g.namespace, name)
		})
		g.awaitCorrection()
	}
	t.Logf("all Sets are right %s after an outage of %s", time.Since(back).Round(time.Second), down)
	for _, g := range groups {
		g.checkWrites()
		g.delete()
	}
}

// outageGroup is the Sets of a namespace, and the controllers that keep them.
type outageGroup struct {
	t         *testing.T
	cluster   dynamic.Interface
	dir       string
	namespace string
	elects    bool
	replicas  []*replica
	led       map[*replica]bool // before the outage
	before    map[string]string // versions of the ConfigMaps before the outage, by name
}

// The Sets of a group: packages and apps, at rest and in the middle of a rollout.
var outageSets = []string{"rest-package", "rest-app", "midway-package", "midway-app"}

// newOutageGroup creates the Sets of a group, and starts its controllers.
func newOutageGroup(t *testing.T, client dynamic.Interface, elects bool) *outageGroup {
	t.Helper()
	g := &outageGroup{
		t: t, cluster: client, dir: t.TempDir(), elects: elects,
		namespace: "outage-" + utilrand.String(10),
	}
	check(t, createNamespace(t.Cleanup, g.namespace))
	t.Cleanup(func() { releaseSets(g.namespace) })
	check(t, grant(g.namespace))
	check(t, writeControllerConfig(filepath.Join(g.dir, "kubeconfig-controller")))
	check(t, writeKubeconfig(filepath.Join(g.dir, "kubeconfig"), g.namespace))
	for _, name := range outageSets {
		applySet(t, client, keptSet(g.namespace, name, strings.HasSuffix(name, "app"),
			g.manifests(name)))
	}
	g.start()
	if elects {
		g.start()
	}
	return g
}

// start starts a controller.
func (g *outageGroup) start() {
	g.t.Helper()
	flags := []string{"--leader-elect=false"}
	if g.elects {
		flags = []string{"--leader-election-namespace=" + g.namespace}
	}
	g.replicas = append(g.replicas, startReplica(g.t,
		filepath.Join(g.dir, fmt.Sprintf("replica-%d", len(g.replicas))),
		filepath.Join(g.dir, "kubeconfig-controller"), []string{g.namespace}, flags...))
}

// restart starts a controller if none is left, as pods are started again.
func (g *outageGroup) restart() {
	g.t.Helper()
	if !slices.ContainsFunc(g.replicas, (*replica).runs) {
		g.start()
	}
}

// manifests returns the manifests of a Set: ConfigMaps and, of a rollout that does not end by
// itself, a Deployment and ConfigMaps that depend on it.
func (g *outageGroup) manifests(name string) string {
	objects := []*unstructured.Unstructured{
		generated("ConfigMap", name+"-early-0", "1"), generated("ConfigMap", name+"-early-1", "1"),
	}
	if strings.HasPrefix(name, "midway") {
		gate := generated("Deployment", name, "1")
		annotate(gate, "kapp.k14s.io/change-group", "e2e/"+name)
		check(g.t, unstructured.SetNestedStringMap(gate.Object,
			map[string]string{"local.muster.dev/behaviour": "never-ready"},
			"spec", "template", "metadata", "annotations"))
		objects = append(objects, gate)
		for i := range 2 {
			late := generated("ConfigMap", fmt.Sprintf("%s-late-%d", name, i), "1")
			annotate(late, "kapp.k14s.io/change-rule", "upsert after upserting e2e/"+name)
			annotate(late, "config.kubernetes.io/depends-on",
				fmt.Sprintf("apps/namespaces/%s/Deployment/%s", g.namespace, name))
			objects = append(objects, late)
		}
	}
	var text strings.Builder
	for _, object := range objects {
		data, _ := json.Marshal(object) // of texts only
		fmt.Fprintf(&text, "---\n%s\n", data)
	}
	return text.String()
}

// await waits until something is so of every Set.
func (g *outageGroup) await(what string, is func(name string) (bool, string)) {
	g.t.Helper()
	for _, name := range outageSets {
		until(g.t, fmt.Sprintf("Set %s %s", name, what), func() (bool, string) {
			g.restart()
			return is(name)
		})
	}
}

// isMidway reports whether a Set at rest is ready, or another one waits for its Deployment.
func (g *outageGroup) isMidway(name string) (bool, string) {
	if strings.HasPrefix(name, "rest") {
		return isKept(g.t, g.cluster, g.namespace, name)
	}
	set, err := g.cluster.Resource(setsResource).Namespace(g.namespace).Get(g.t.Context(), name,
		metav1.GetOptions{})
	check(g.t, err)
	causes, _, _ := unstructured.NestedSlice(set.Object, "status", "causes")
	return len(causes) > 0, fmt.Sprint(set.Object["status"])
}

// versions returns the versions of the ConfigMaps of the Sets by name.
func (g *outageGroup) versions() map[string]string {
	g.t.Helper()
	list, err := g.configMaps().List(g.t.Context(), metav1.ListOptions{})
	check(g.t, err)
	versions := map[string]string{}
	for _, object := range list.Items {
		if strings.Contains(object.GetName(), "-early-") {
			versions[object.GetName()] = object.GetResourceVersion()
		}
	}
	return versions
}

// configMaps returns the ConfigMaps of the namespace.
func (g *outageGroup) configMaps() dynamic.ResourceInterface {
	return g.cluster.Resource(watched["ConfigMap"]).Namespace(g.namespace)
}

// noteLeaders notes which replicas lead: after the outage another one may.
func (g *outageGroup) noteLeaders() {
	g.t.Helper()
	g.led = map[*replica]bool{}
	for _, r := range g.replicas {
		g.led[r] = g.elects && r.leads()
	}
	if leaders := slices.Collect(maps.Values(g.led)); g.elects != slices.Contains(leaders, true) {
		g.t.Errorf("a leader is elected: %t, and leads: %v", g.elects, leaders)
	}
}

// checkReplicas checks that the leader ends, since it could not renew its Lease, and that the other
// replicas have not ended.
func (g *outageGroup) checkReplicas() {
	g.t.Helper()
	for i, r := range g.replicas {
		if g.led[r] {
			until(g.t, fmt.Sprintf("controller %d, which led, ends", i), func() (bool, string) {
				return !r.runs(), ""
			})
		} else if !r.runs() {
			g.t.Errorf("controller %d, which did not lead, has ended", i)
		}
	}
}

// drifted are the ConfigMaps that others change right after the outage.
var drifted = []string{"rest-package-early-0", "rest-app-early-0"}

// drift changes ConfigMaps of the Sets at rest.
func (g *outageGroup) drift() {
	g.t.Helper()
	for _, name := range drifted {
		_, err := g.configMaps().Patch(g.t.Context(), name, types.MergePatchType,
			[]byte(`{"data":{"text":"changed"}}`), metav1.PatchOptions{})
		check(g.t, err)
	}
}

// release lets the pods that the rollouts wait for become ready.
func (g *outageGroup) release() {
	g.t.Helper()
	pods := g.cluster.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).
		Namespace(g.namespace)
	list, err := pods.List(g.t.Context(), metav1.ListOptions{})
	check(g.t, err)
	for _, pod := range list.Items {
		_, err := pods.Patch(g.t.Context(), pod.GetName(), types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"local.muster.dev/behaviour":null}}}`),
			metav1.PatchOptions{})
		check(g.t, err)
	}
}

// awaitCorrection waits until what others changed is put back.
func (g *outageGroup) awaitCorrection() {
	g.t.Helper()
	for _, name := range drifted {
		until(g.t, "ConfigMap "+name+" is put back", func() (bool, string) {
			g.restart()
			object, err := g.configMaps().Get(g.t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return false, err.Error()
			}
			return textOf(object) == "1", textOf(object)
		})
	}
}

// checkWrites checks that what had been written before the outage was not written again, and that
// the records have all objects.
func (g *outageGroup) checkWrites() {
	g.t.Helper()
	after := g.versions()
	for _, name := range drifted {
		delete(g.before, name)
		delete(after, name)
	}
	if !maps.Equal(g.before, after) {
		g.t.Errorf("versions before the outage %v, and after it %v", g.before, after)
	}
	for _, name := range outageSets {
		want := []string{"ConfigMap/" + name + "-early-0", "ConfigMap/" + name + "-early-1"}
		if strings.HasPrefix(name, "midway") {
			want = append(want, "ConfigMap/"+name+"-late-0", "ConfigMap/"+name+"-late-1",
				"Deployment/"+name)
		}
		recorded := recordedBy(g.t, g.cluster, g.dir, g.namespace, name, strings.HasSuffix(name, "app"))
		if !slices.Equal(recorded, want) {
			g.t.Errorf("the record of %s has %s, want %s", name, recorded, want)
		}
	}
}

// delete deletes the Sets, and checks that nothing is left of them.
func (g *outageGroup) delete() {
	g.t.Helper()
	for _, name := range outageSets {
		check(g.t, g.cluster.Resource(setsResource).Namespace(g.namespace).Delete(g.t.Context(), name,
			metav1.DeleteOptions{}))
	}
	g.await("is gone", func(name string) (bool, string) {
		_, status := isKept(g.t, g.cluster, g.namespace, name)
		return isGone(g.t, g.cluster, g.namespace, name), status
	})
	if left := g.versions(); len(left) > 0 {
		g.t.Errorf("ConfigMaps are left: %v", left)
	}
}
