package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

var recordRollouts = flag.Bool("record-rollouts", false,
	"rewrite the recordings in internal/sets/policy/judge/testdata/rollouts")

const recordings = "../../internal/sets/policy/judge/testdata/rollouts"

// quiet is how long no object of a rollout may change until the rollout counts as over.
const quiet = 8 * time.Second

// recording is what happens to one object: it is created, and changed step by step.
type recording struct {
	Name     string // of the recording
	About    string
	Before   []map[string]any // objects that exist before
	Object   map[string]any
	Children []schema.GroupVersionKind // kinds of child objects that are recorded, too
	Steps    []rolloutStep             // the first one is the creation
}

// rolloutStep is a change by a user.
type rolloutStep struct {
	Does       string
	Patch      map[string]any // of the object; a strategic one of a pod
	DeletePods int            // the number of pods that are deleted, the oldest ones first
	After      int            // it happens after so many states of the step before; 0 is after all
	Unfinished bool           // the rollout never ends
}

// TestRecordRollouts records every state that the server has of an object and its child objects
// during a rollout, for the tests of those who judge them. It is no test: it writes files.
func TestRecordRollouts(t *testing.T) {
	if !*recordRollouts {
		t.Skip("-record-rollouts is not set")
	}
	all := readRollouts(t)
	for _, r := range all {
		t.Run(r.Name, func(t *testing.T) {
			inTurn(t)
			recorder := newRecorder(t, &r)
			recorder.run()
			text := fmt.Sprintf("%s\n-- events --\n%s", strings.TrimSpace(r.About), recorder.text())
			check(t, os.WriteFile(filepath.Join(recordings, r.Name+".txtar"), []byte(text), 0o644))
		})
	}
}

// readRollouts returns what is to be recorded. ${PORT} is the port of a server that answers all
// requests.
func readRollouts(t *testing.T) []recording {
	t.Helper()
	data, err := os.ReadFile("testdata/rollouts/rollouts.yaml")
	check(t, err)
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	check(t, err)
	text := strings.ReplaceAll(string(data), "${PORT}", address.Port())
	fields, err := yaml.YAMLToJSON([]byte(text))
	check(t, err)
	decoder := json.NewDecoder(strings.NewReader(string(fields)))
	decoder.DisallowUnknownFields()
	var all []recording
	check(t, decoder.Decode(&all))
	return all
}

// rolloutRecorder records one rollout.
type rolloutRecorder struct {
	*recording
	t         *testing.T
	client    dynamic.Interface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	namespace string
	arriving  chan rolloutState
	states    []rolloutState
}

// rolloutState is a state of an object, or the step of a user that comes before the states of its
// version and later ones.
type rolloutState struct {
	version int64
	step    string
	object  *unstructured.Unstructured
	gone    bool
}

func newRecorder(t *testing.T, of *recording) *rolloutRecorder {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	check(t, err)
	client, err := dynamic.NewForConfig(config)
	check(t, err)
	served, err := discovery.NewDiscoveryClientForConfig(config)
	check(t, err)
	r := &rolloutRecorder{
		recording: of, t: t, client: client, arriving: make(chan rolloutState),
		mapper:    restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(served)),
		namespace: "rollout-" + strings.ReplaceAll(of.Name, "_", "-"),
	}
	check(t, createNamespace(t.Cleanup, r.namespace))
	return r
}

// resources returns the client of a kind, in the namespace of the rollout if it has one.
func (r *rolloutRecorder) resources(gvk schema.GroupVersionKind) dynamic.ResourceInterface {
	r.t.Helper()
	mapping, err := r.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	check(r.t, err)
	if mapping.Scope.Name() == "namespace" {
		return r.client.Resource(mapping.Resource).Namespace(r.namespace)
	}
	return r.client.Resource(mapping.Resource)
}

// run makes the steps, each after the rollout of the one before.
func (r *rolloutRecorder) run() {
	for _, fields := range r.Before {
		obj := decodeObject(r.t, fields)
		r.create(obj)
	}
	obj := decodeObject(r.t, r.Object)
	r.watch(obj.GroupVersionKind(), "metadata.name="+obj.GetName())
	for _, gvk := range r.Children {
		r.watch(gvk, "")
	}
	at := int64(0)
	for i, step := range r.Steps {
		if i > 0 {
			r.wait(at, step.After)
		}
		at = r.make(step, obj, i == 0)
		if step.After > 0 {
			step.Does += " (early)"
		}
		if step.Unfinished {
			step.Does += " (unfinished)"
		}
		r.states = append(r.states, rolloutState{version: at, step: step.Does})
	}
	r.wait(at, 0)
}

// create creates an object, and deletes it at the end unless its namespace does.
func (r *rolloutRecorder) create(obj *unstructured.Unstructured) *unstructured.Unstructured {
	resources := r.resources(obj.GroupVersionKind())
	made, err := resources.Create(r.t.Context(), obj, metav1.CreateOptions{})
	check(r.t, err)
	if made.GetNamespace() == "" {
		r.t.Cleanup(func() {
			_ = resources.Delete(context.Background(), obj.GetName(), metav1.DeleteOptions{})
		})
	}
	return made
}

// make makes the change of a step and returns the resource version from which on its effects are.
func (r *rolloutRecorder) make(
	step rolloutStep, obj *unstructured.Unstructured, creates bool,
) int64 {
	ctx := r.t.Context()
	switch {
	case creates:
		return stateVersion(r.t, r.create(obj))
	case step.DeletePods > 0:
		pods := r.resources(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
		list, err := pods.List(ctx, metav1.ListOptions{})
		check(r.t, err)
		slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int {
			return cmp.Compare(stateVersion(r.t, &a), stateVersion(r.t, &b))
		})
		for i := range min(step.DeletePods, len(list.Items)) {
			check(r.t, pods.Delete(ctx, list.Items[i].GetName(), metav1.DeleteOptions{}))
		}
		version, err := strconv.ParseInt(list.GetResourceVersion(), 10, 64)
		check(r.t, err)
		return version
	}
	patch, err := json.Marshal(step.Patch)
	check(r.t, err)
	patchType := types.MergePatchType
	if obj.GetKind() == "Pod" { // most fields of its containers cannot change
		patchType = types.StrategicMergePatchType
	}
	changed, err := r.resources(obj.GroupVersionKind()).Patch(ctx, obj.GetName(), patchType, patch,
		metav1.PatchOptions{})
	check(r.t, err)
	return stateVersion(r.t, changed)
}

// watch reports the states of the objects of a kind from now on. It ends with the test.
func (r *rolloutRecorder) watch(gvk schema.GroupVersionKind, selector string) {
	resources := r.resources(gvk)
	list, err := resources.List(r.t.Context(), metav1.ListOptions{FieldSelector: selector})
	check(r.t, err)
	watched, err := resources.Watch(r.t.Context(), metav1.ListOptions{
		FieldSelector: selector, ResourceVersion: list.GetResourceVersion(),
	})
	check(r.t, err)
	go func() {
		for e := range watched.ResultChan() {
			obj, ok := e.Object.(*unstructured.Unstructured)
			if r.t.Context().Err() != nil {
				return
			}
			if !ok || e.Type == watch.Error {
				r.t.Errorf("the watch of %s broke: %v", gvk.Kind, e.Object)
				return
			}
			state := rolloutState{
				version: stateVersion(r.t, obj), object: obj, gone: e.Type == watch.Deleted,
			}
			select {
			case r.arriving <- state:
			case <-r.t.Context().Done():
				return
			}
		}
	}()
}

// wait records states until no more arrive or, if a number is given, until the object has had so
// many since a version.
func (r *rolloutRecorder) wait(since int64, number int) {
	r.t.Helper()
	had := 0
	for over := time.After(quiet); ; over = time.After(quiet) {
		select {
		case s := <-r.arriving:
			r.states = append(r.states, s)
			if s.version >= since && s.object.GetKind() == fmt.Sprint(r.Object["kind"]) {
				had++
			}
			if number > 0 && had == number {
				return
			}
		case <-over:
			if number > 0 {
				r.t.Fatalf("the object had %d states, not %d", had, number)
			}
			return
		}
	}
}

// text returns the recording: a line for each step, and for each state of an object, with what
// differs from the state before. A state without a difference is left out.
func (r *rolloutRecorder) text() string {
	slices.SortStableFunc(r.states, func(a, b rolloutState) int {
		return cmp.Or(cmp.Compare(a.version, b.version), -cmp.Compare(a.step, b.step))
	})
	var b strings.Builder
	last := map[string]map[string]any{}
	for _, s := range r.states {
		if s.object == nil {
			fmt.Fprintf(&b, "# %s\n", s.step)
			continue
		}
		name := fmt.Sprintf("%s %s %s", s.object.GetAPIVersion(), s.object.GetKind(),
			s.object.GetName())
		parts := partsOf(s.object)
		changed := changesOf(last[name], parts)
		last[name] = parts
		switch data, err := json.Marshal(changed); {
		case s.gone:
			fmt.Fprintf(&b, "%s gone\n", name)
		case err != nil:
			r.t.Fatal(err)
		case len(changed) > 0:
			fmt.Fprintf(&b, "%s %s\n", name, data)
		}
	}
	return b.String()
}

// changesOf returns the parts of an object that differ from those before, and of maps the fields
// that do: null if they are gone.
func changesOf(before, parts map[string]any) map[string]any {
	changed := map[string]any{}
	for key, value := range parts {
		fields, isMap := value.(map[string]any)
		old, _ := before[key].(map[string]any)
		switch {
		case reflect.DeepEqual(value, before[key]):
		case isMap:
			changed[key] = changesOf(old, fields)
		default:
			changed[key] = value
		}
	}
	for key := range before {
		if _, kept := parts[key]; !kept {
			changed[key] = nil
		}
	}
	return changed
}

// partsOf returns what a recording has of an object.
func partsOf(obj *unstructured.Unstructured) map[string]any {
	parts := map[string]any{}
	if obj.GetGeneration() > 0 {
		parts["generation"] = obj.GetGeneration()
	}
	notes := map[string]any{}
	for key, value := range obj.GetAnnotations() {
		if !strings.HasPrefix(key, "local.muster.dev/") && !strings.HasPrefix(key, "deprecated.") {
			notes[key] = value
		}
	}
	if len(notes) > 0 {
		parts["annotations"] = notes
	}
	spec, _ := obj.Object["spec"].(map[string]any)
	for _, bulky := range unrecordedSpec {
		delete(spec, bulky)
	}
	for key, value := range map[string]any{"spec": spec, "status": obj.Object["status"]} {
		if fields, _ := value.(map[string]any); len(fields) > 0 {
			parts[key] = recordable(fields)
		}
	}
	return parts
}

// unrecordedSpec are fields of specifications that no status depends on.
var unrecordedSpec = []string{
	"containers", "initContainers", "jobTemplate", "selector", "template", "tolerations",
	"topologySpreadConstraints", "versions", "volumeClaimTemplates", "volumes", "caBundle",
}

// unrecorded are fields that differ from one recording to the next, and that nobody decides by.
var unrecorded = []string{
	"clusterIPs", "collisionCount", "containerID", "hostIP", "hostIPs", "image", "imageID",
	"lastProbeTime", "lastTransitionTime", "lastUpdateTime", "message", "nodeName", "nodePort",
	"podIP", "podIPs", "port", "revisionHistoryLimit", "uncountedTerminatedPods", "volumeName",
}

// recordable returns a value without the fields that differ from one recording to the next. All
// times are the same, and all addresses.
func recordable(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, field := range value {
			if field != nil && !slices.Contains(unrecorded, key) {
				out[key] = recordable(field)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, item := range value {
			out = append(out, recordable(item))
		}
		return out
	case string:
		if _, err := time.Parse(time.RFC3339, value); err == nil {
			return "2026-01-01T00:00:00Z"
		}
		if net.ParseIP(value) != nil {
			return "10.0.0.1"
		}
	}
	return value
}

// decodeObject returns an object with numbers as a client of the API server sees them.
func decodeObject(t *testing.T, fields map[string]any) *unstructured.Unstructured {
	t.Helper()
	data, err := json.Marshal(fields)
	check(t, err)
	obj := &unstructured.Unstructured{}
	check(t, obj.UnmarshalJSON(data))
	return obj
}

func stateVersion(t *testing.T, obj *unstructured.Unstructured) int64 {
	version, err := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		t.Error(err)
	}
	return version
}
