package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/muster-deploy/muster/local/registry"
)

// TestControllerSources deploys sources of 300 MB, and sources that change while a run is under
// way.
func TestControllerSources(t *testing.T) {
	installController(t)
	installArchives(t)
	t.Run("sources", func(t *testing.T) { // so that the definitions stay until the last one has ended
		t.Run("large", func(t *testing.T) {
			inTurn(t)
			newSourceTest(t).large()
		})
		for _, kind := range []string{"configmap", "oci", "archive"} {
			t.Run(kind, func(t *testing.T) {
				inTurn(t)
				newSourceTest(t).changes(kind)
			})
		}
	})
}

// archivesResource are objects with an artifact, as those of Flux.
var archivesResource = schema.GroupVersionResource{
	Group: "e2e.muster.dev", Version: "v1", Resource: "archives",
}

// archives defines the kind, and lets the controller read it.
const archives = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: archives.e2e.muster.dev}
spec:
  group: e2e.muster.dev
  names: {kind: Archive, plural: archives}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: e2e-archives}
rules: [{apiGroups: [e2e.muster.dev], resources: [archives], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: e2e-archives}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: e2e-archives}
subjects: [{kind: ServiceAccount, name: muster-controller, namespace: muster-system}]
`

// installArchives installs the kind, and removes it after the test.
func installArchives(t *testing.T) {
	t.Helper()
	run := func(args ...string) {
		cmd := exec.Command("kubectl", append(args, "-f", "-", "--kubeconfig", cluster.Kubeconfig())...)
		cmd.Stdin = strings.NewReader(archives)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	run("apply")
	t.Cleanup(func() { run("delete", "--ignore-not-found") })
	wait := exec.Command("kubectl", "wait", "--for=condition=Established", "--timeout=1m",
		"crd/archives.e2e.muster.dev", "--kubeconfig", cluster.Kubeconfig())
	if out, err := wait.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// sourceTest is a controller in a namespace, and servers of sources.
type sourceTest struct {
	t              *testing.T
	cluster        dynamic.Interface
	dir, namespace string
	registry       *registry.Server
	looks          atomic.Int64 // at tags of the registry
	site           *archiveSite
	controller     *replica
}

// newSourceTest starts the controller.
func newSourceTest(t *testing.T) *sourceTest {
	t.Helper()
	s := &sourceTest{t: t, dir: t.TempDir(), namespace: "sources-" + utilrand.String(10)}
	check(t, createNamespace(t.Cleanup, s.namespace))
	t.Cleanup(func() { releaseSets(s.namespace) })
	check(t, grant(s.namespace))
	check(t, writeControllerConfig(s.path("kubeconfig-controller")))
	check(t, writeKubeconfig(s.path("kubeconfig"), s.namespace))
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	check(t, err)
	config.QPS = -1
	s.cluster, err = dynamic.NewForConfig(config)
	check(t, err)
	s.registry, err = registry.Start("", "")
	check(t, err)
	t.Cleanup(s.registry.Close)
	serve := s.registry.Config.Handler
	s.registry.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead && strings.Contains(r.URL.Path, "/manifests/") {
			s.looks.Add(1)
		}
		serve.ServeHTTP(w, r)
	})
	s.site = startArchiveSite(t)
	s.controller = startReplica(t, s.path("replica"), s.path("kubeconfig-controller"),
		[]string{s.namespace}, "--leader-elect=false", "--artifact-kind=Archive.e2e.muster.dev")
	return s
}

func (s *sourceTest) path(name string) string { return filepath.Join(s.dir, name) }

// archiveSite serves archives by their paths, and at /endless one of 300 MB whose length nobody
// says.
type archiveSite struct {
	*httptest.Server
	mutex    sync.Mutex
	contents map[string][]byte
}

// startArchiveSite starts a site, which ends with the test.
func startArchiveSite(t *testing.T) *archiveSite {
	s := &archiveSite{contents: map[string][]byte{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/endless" {
			part := make([]byte, 1<<20)
			for range 300 {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
			return
		}
		s.mutex.Lock()
		content := s.contents[r.URL.Path]
		s.mutex.Unlock()
		_, _ = w.Write(content) // the client reports what is missing
	}))
	t.Cleanup(s.Close)
	return s
}

// put sets what the site has at a path.
func (s *archiveSite) put(path string, content []byte) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.contents[path] = content
}

// publish writes an object with an artifact of the site.
func (s *sourceTest) publish(name, path, revision string, content []byte) {
	s.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"status": map[string]any{"artifact": map[string]any{
			"url": s.site.URL + path, "revision": revision,
			"digest": fmt.Sprintf("sha256:%x", sha256.Sum256(content)),
		}},
	}}
	object.SetAPIVersion(archivesResource.GroupVersion().String())
	object.SetKind("Archive")
	object.SetName(name)
	_, err := s.cluster.Resource(archivesResource).Namespace(s.namespace).Apply(s.t.Context(), name,
		object, metav1.ApplyOptions{FieldManager: "e2e", Force: true})
	check(s.t, err)
}

// fromRegistry returns the source of a Set whose artifact has a tag of the registry.
func (s *sourceTest) fromRegistry(repository, tag string) map[string]any {
	return map[string]any{"oci": map[string]any{
		"url": "oci://" + s.registry.Address + "/" + repository, "poll": "1s", "insecure": true,
		"ref": map[string]any{"tag": tag},
	}}
}

// fromArchive returns the source of a Set that an object with an artifact names.
func fromArchive(name string) map[string]any {
	return map[string]any{"artifact": map[string]any{
		"apiVersion": archivesResource.GroupVersion().String(), "kind": "Archive", "name": name,
	}}
}

// apply creates a Set with a source, and with the pause before a run that failed is repeated.
func (s *sourceTest) apply(name, pause string, source map[string]any) {
	s.t.Helper()
	set := keptSet(s.namespace, name, false, "")
	spec := set.Object["spec"].(map[string]any)
	spec["source"], spec["history"] = source, map[string]any{"keep": int64(50)}
	spec["retry"] = map[string]any{"first": pause, "max": pause}
	applySet(s.t, s.cluster, set)
}

// awaitReady waits until a Set is ready.
func (s *sourceTest) awaitReady(name string) {
	s.t.Helper()
	until(s.t, "Set "+name+" is ready", func() (bool, string) {
		return isKept(s.t, s.cluster, s.namespace, name)
	})
}

// maxGrowth is how many bytes more memory the controller may need because of a source that is too
// large: its limit for sources is 50 MiB.
const maxGrowth = 150 << 20

// large deploys sources of 300 MB: their Sets are stalled, the memory of the controller does not
// grow by what they have, no file of them is left, and other Sets are deployed meanwhile.
func (s *sourceTest) large() {
	many := registry.Many()
	s.site.put("/many", many)
	s.publish("many", "/many", "1", many)
	s.publish("endless", "/endless", "1", nil)
	for _, image := range []string{"announced", "zeros", "many"} {
		check(s.t, s.registry.PushImage(image, "team/"+image+":1", ""))
	}
	s.applySmall("first")
	for name, source := range map[string]map[string]any{
		"registry-announced": s.fromRegistry("team/announced", "1"),
		"registry-one-file":  s.fromRegistry("team/zeros", "1"),
		"registry-many":      s.fromRegistry("team/many", "1"),
		"archive-many":       fromArchive("many"),
		"archive-endless":    fromArchive("endless"),
	} {
		before := s.memory("VmRSS")
		s.resetPeak()
		s.apply(name, "1h", source)
		s.applySmall("beside-" + name)
		until(s.t, "Set "+name+" is stalled", func() (bool, string) { return s.isTooLarge(name) })
		growth := s.memory("VmHWM") - before
		s.t.Logf("%s: from %d MiB, at most %d MiB more", name, before>>20, growth>>20)
		if growth > maxGrowth {
			s.t.Errorf("%s: the controller took %d MiB more", name, growth>>20)
		}
	}
	until(s.t, "no files are left", func() (bool, string) {
		left, err := filepath.Glob(s.path("replica/work/sources/*/*")) // by namespace
		check(s.t, err)
		return len(left) == 0, fmt.Sprint(left)
	})
	good := s.folder("good", map[string]string{"a.yaml": configMap("recovered", "1")})
	check(s.t, s.registry.PushImage("image", "team/many:1", good))
	s.awaitReady("registry-many")
}

// applySmall deploys a Set with one ConfigMap.
func (s *sourceTest) applySmall(name string) {
	s.t.Helper()
	s.apply(name, "1s", map[string]any{"inline": configMap(name, "1")})
	s.awaitReady(name)
}

// configMap returns the manifest of a ConfigMap with a text.
func configMap(name, text string) string {
	data, _ := json.Marshal(generated("ConfigMap", name, text)) // of texts only
	return "---\n" + string(data) + "\n"
}

// isTooLarge reports whether a Set is stalled because its source has too many bytes, and otherwise
// what its status says.
func (s *sourceTest) isTooLarge(name string) (bool, string) {
	set, err := s.cluster.Resource(setsResource).Namespace(s.namespace).Get(s.t.Context(), name,
		metav1.GetOptions{})
	check(s.t, err)
	conditions, _, _ := unstructured.NestedSlice(set.Object, "status", "conditions")
	for _, c := range conditions {
		condition := c.(map[string]any)
		if condition["type"] == "Stalled" && condition["reason"] == "SourceInvalid" &&
			strings.Contains(condition["message"].(string), "50 MiB") {
			return true, ""
		}
	}
	return false, fmt.Sprint(set.Object["status"])
}

// memory returns a figure of the memory of the controller, in bytes: VmRSS, or VmHWM, which is the
// most since resetPeak. It is 0 on systems other than Linux.
func (s *sourceTest) memory(field string) int64 {
	s.t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.controller.cmd.Process.Pid))
	check(s.t, err)
	found := regexp.MustCompile(field + `:\s+(\d+) kB`).FindSubmatch(text)
	if found == nil {
		s.t.Fatalf("no %s in\n%s", field, text)
	}
	kilobytes, err := strconv.ParseInt(string(found[1]), 10, 64)
	check(s.t, err)
	return kilobytes << 10
}

// resetPeak lets VmHWM begin with what the controller has now.
func (s *sourceTest) resetPeak() {
	s.t.Helper()
	if runtime.GOOS == "linux" {
		check(s.t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.controller.cmd.Process.Pid),
			[]byte("5"), 0))
	}
}

// folder writes files into a folder, and returns its path.
func (s *sourceTest) folder(name string, files map[string]string) string {
	s.t.Helper()
	check(s.t, os.MkdirAll(s.path(name), 0o700))
	for file, text := range files {
		check(s.t, os.WriteFile(filepath.Join(s.path(name), file), []byte(text), 0o600))
	}
	return s.path(name)
}

// lastEdition is the last edition of a source that changes.
const lastEdition = 6

// changes changes a source while a run of the first edition waits in the middle, and then again and
// again. Each run deploys one edition whole, never an older one than the run before, and the last
// one is what remains.
func (s *sourceTest) changes(kind string) {
	s.edition(kind, 1)
	s.apply("shop", "1s", map[string]map[string]any{
		"configmap": {"configMaps": []any{map[string]any{"name": "shop"}}},
		"oci":       s.fromRegistry("team/shop", "stable"),
		"archive":   fromArchive("shop"),
	}[kind])
	until(s.t, "the first edition waits", func() (bool, string) { return s.deploys(1), "" })
	if enough := s.looks.Load() + 3; kind == "oci" { // which find what the run has already
		until(s.t, "the tag is looked at", func() (bool, string) { return s.looks.Load() > enough, "" })
	}
	for e := 2; e <= lastEdition; e++ {
		s.edition(kind, e)
		if e%2 == 0 { // the others are replaced at once
			until(s.t, fmt.Sprintf("edition %d is deployed", e), func() (bool, string) {
				return s.deploys(e), ""
			})
		}
	}
	until(s.t, "the last edition is deployed", func() (bool, string) {
		texts := s.texts()
		complete := len(texts) == 8
		for _, text := range texts {
			complete = complete && text == strconv.Itoa(lastEdition)
		}
		return complete, fmt.Sprint(texts)
	})
	s.awaitReady("shop")
	s.checkHistory()
}

// edition makes an edition that of the source. A Deployment of it stands between two files; that of
// the first edition is never ready.
func (s *sourceTest) edition(kind string, number int) {
	s.t.Helper()
	edition := strconv.Itoa(number)
	gate := generated("Deployment", "gate", edition)
	if number == 1 {
		check(s.t, unstructured.SetNestedField(gate.Object, "never-ready",
			"spec", "template", "metadata", "annotations", "local.muster.dev/behaviour"))
	}
	text, err := json.Marshal(gate)
	check(s.t, err)
	files := map[string]string{"a.yaml": string(text) + "\n"}
	for i := range 4 {
		files["a.yaml"] += configMap(fmt.Sprintf("early-%d", i), edition)
		late := generated("ConfigMap", fmt.Sprintf("late-%d", i), edition)
		annotate(late, "config.kubernetes.io/depends-on",
			"apps/namespaces/"+s.namespace+"/Deployment/gate")
		text, err := json.Marshal(late)
		check(s.t, err)
		files["b.yaml"] += "---\n" + string(text) + "\n"
	}
	folder := s.folder("edition-"+edition, files)
	switch kind {
	case "configmap":
		s.writeSource(files)
	case "oci":
		check(s.t, s.registry.PushImage("image", "team/shop:stable", folder))
	case "archive": // its address is always the same, so that for a moment its digest is wrong
		content := registry.FolderArchive(folder)
		s.site.put("/shop", content)
		s.publish("shop", "/shop", edition, content)
	}
}

// writeSource writes files into the ConfigMap that is the source.
func (s *sourceTest) writeSource(files map[string]string) {
	s.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1",
		"kind": "ConfigMap"}}
	object.SetName("shop")
	check(s.t, unstructured.SetNestedStringMap(object.Object, files, "data"))
	_, err := s.cluster.Resource(watched["ConfigMap"]).Namespace(s.namespace).Apply(s.t.Context(),
		"shop", object, metav1.ApplyOptions{FieldManager: "e2e", Force: true})
	check(s.t, err)
}

// texts returns the editions of the ConfigMaps that are deployed, by name.
func (s *sourceTest) texts() map[string]string {
	s.t.Helper()
	list, err := s.cluster.Resource(watched["ConfigMap"]).Namespace(s.namespace).List(s.t.Context(),
		metav1.ListOptions{})
	check(s.t, err)
	texts := map[string]string{}
	for _, object := range list.Items {
		if name := object.GetName(); strings.HasPrefix(name, "early-") ||
			strings.HasPrefix(name, "late-") {
			texts[name] = textOf(&object)
		}
	}
	return texts
}

// deploys reports whether a ConfigMap of an edition is deployed.
func (s *sourceTest) deploys(edition int) bool {
	s.t.Helper()
	for _, text := range s.texts() {
		if text == strconv.Itoa(edition) {
			return true
		}
	}
	return false
}

// recordedText is the edition of an object in a revision.
var recordedText = regexp.MustCompile(`(?m)^\s+text: "(\d+)"$`)

// checkHistory checks that each revision is of one edition, and that none is older than the one
// before.
func (s *sourceTest) checkHistory() {
	s.t.Helper()
	var list struct{ Items []struct{ Number int } }
	check(s.t, json.Unmarshal(s.history("-o", "json"), &list))
	slices.SortFunc(list.Items, func(a, b struct{ Number int }) int { return a.Number - b.Number })
	before := 0
	var editions []int
	for _, revision := range list.Items {
		texts := map[string]bool{}
		shown := s.history("show", strconv.Itoa(revision.Number), "-o", "yaml")
		edition := 0
		for _, found := range recordedText.FindAllSubmatch(shown, -1) {
			texts[string(found[1])] = true
			edition, _ = strconv.Atoi(string(found[1])) // digits
		}
		if len(texts) != 1 || edition < before {
			s.t.Errorf("revision %d, after edition %d, has the editions %v", revision.Number, before, texts)
		}
		before, editions = edition, append(editions, edition)
	}
	s.t.Logf("editions of the revisions: %v", editions)
	if len(editions) < 3 || editions[0] != 1 || editions[1] == 1 || before != lastEdition {
		s.t.Errorf("the revisions have the editions %v", editions)
	}
}

// history returns what the command history prints about the Set.
func (s *sourceTest) history(args ...string) []byte {
	s.t.Helper()
	cmd := exec.Command("muster", append(append([]string{"history"}, args...), "--record", "shop")...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.path("kubeconfig"), "HOME="+s.dir)
	out, err := cmd.Output()
	check(s.t, err)
	return out
}
