package app

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// fake is a cluster of ConfigMaps that counts its requests.
type fake struct {
	cluster.Writer // its other methods are not called

	mu      sync.Mutex
	objects map[object.Ref]*unstructured.Unstructured
	version int
	sent    []string // "get n/x", "list n", "create n/x" …, in order
	// the answer to a request, if it is not nil; called without the lock
	refuse func(sent string) error
}

func newFake() *fake { return &fake{objects: map[object.Ref]*unstructured.Unstructured{}} }

// request counts one request and returns the error that answers it, if any.
func (f *fake) request(verb, namespace, name string) error {
	sent := strings.TrimRight(verb+" "+namespace+"/"+name, "/")
	f.mu.Lock()
	f.sent = append(f.sent, sent)
	refuse := f.refuse
	f.mu.Unlock()
	if refuse != nil {
		return refuse(sent)
	}
	return nil
}

// requests gives what was sent since the last call, sorted, since some is sent at once.
func (f *fake) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	sent := f.sent
	f.sent = nil
	for i := range sent {
		if head, _, ok := strings.Cut(sent[i], "-change-"); ok {
			sent[i] = head + "-change-*"
		}
	}
	slices.Sort(sent)
	return sent
}

// put stores an object unchanged, under a new version.
func (f *fake) put(obj *unstructured.Unstructured) *unstructured.Unstructured {
	f.version++
	obj = obj.DeepCopy()
	obj.SetResourceVersion(strconv.Itoa(f.version))
	if obj.GetUID() == "" {
		obj.SetUID(types.UID("uid-" + strconv.Itoa(f.version)))
		obj.SetCreationTimestamp(metav1.NewTime(time.Date(2026, 1, 1, 0, 0, f.version, 0, time.UTC)))
	}
	f.objects[object.RefOf(obj)] = obj
	return obj.DeepCopy()
}

func (f *fake) Read(_ context.Context, targets []cluster.Target) (*cluster.Snapshot, error) {
	found := &cluster.Snapshot{
		Objects:  map[object.Ref]*unstructured.Unstructured{},
		Unserved: object.NewSet(),
	}
	for _, target := range targets {
		if err := f.request("get", target.Namespace, target.Name); err != nil {
			return nil, err
		}
		f.mu.Lock()
		if obj, ok := f.objects[target.Ref]; ok {
			found.Objects[target.Ref] = obj.DeepCopy()
		}
		f.mu.Unlock()
	}
	return found, nil
}

func (f *fake) List(
	_ context.Context,
	_ schema.GroupKind,
	namespace string,
	with map[string]string,
) ([]*unstructured.Unstructured, error) {
	if err := f.request("list", namespace, ""); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []*unstructured.Unstructured
	for ref, obj := range f.objects {
		matches := namespace == "" || ref.Namespace == namespace
		for key, value := range with {
			got, ok := obj.GetLabels()[key]
			matches = matches && ok && got == value
		}
		if matches {
			found = append(found, obj.DeepCopy())
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(
			cmp.Compare(a.GetNamespace(), b.GetNamespace()),
			cmp.Compare(a.GetName(), b.GetName()),
		)
	})
	return found, nil
}

func (f *fake) Write(_ context.Context, w cluster.Write) (*unstructured.Unstructured, error) {
	if err := f.request(string(w.Method), w.Object.GetNamespace(), w.Object.GetName()); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	ref, resource := object.RefOf(w.Object), schema.GroupResource{Resource: "configmaps"}
	live, ok := f.objects[ref]
	switch {
	case w.Method == cluster.Create && ok:
		return nil, apierrors.NewAlreadyExists(resource, ref.Name)
	case w.Method == cluster.Replace && !ok:
		return nil, apierrors.NewNotFound(resource, ref.Name)
	case w.Method == cluster.Replace && live.GetResourceVersion() != w.Object.GetResourceVersion():
		return nil, apierrors.NewConflict(resource, ref.Name, nil)
	}
	sent := w.Object.DeepCopy()
	if ok {
		sent.SetUID(live.GetUID())
		sent.SetCreationTimestamp(live.GetCreationTimestamp())
	}
	return f.put(sent), nil
}

func (f *fake) Delete(_ context.Context, d cluster.Delete) (bool, error) {
	if err := f.request("delete", d.Ref.Namespace, d.Ref.Name); err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	live, ok := f.objects[d.Ref]
	if !ok {
		return true, nil
	}
	if d.UID != "" && d.UID != live.GetUID() ||
		d.Version != "" && d.Version != live.GetResourceVersion() {
		return false, apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, d.Ref.Name, nil)
	}
	delete(f.objects, d.Ref)
	return false, nil
}

// names returns the names of all ConfigMaps, sorted.
func (f *fake) names() []string {
	var names []string
	for ref := range maps.Keys(f.objects) {
		names = append(names, ref.Namespace+"/"+ref.Name)
	}
	slices.Sort(names)
	return names
}

// recorded is a ConfigMap with labels and a spec.
func recorded(namespace, name, spec string, labels ...string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{
		Object: map[string]any{
			"apiVersion": "v1",
			"kind":       "ConfigMap",
			"data":       map[string]any{"spec": spec},
		},
	}
	obj.SetNamespace(namespace)
	obj.SetName(name)
	all := map[string]string{}
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		all[key] = value
	}
	obj.SetLabels(all)
	return obj
}

const isApp = "kapp.k14s.io/is-app="

// spec is the text of a record of an app of one kind.
func spec(value, kinds string) string {
	return `{"labelKey":"kapp.k14s.io/app","labelValue":"` + value +
		`","lastChange":{"startedAt":"0001-01-01T00:00:00Z",` +
		`"finishedAt":"0001-01-01T00:00:00Z"},"usedGKs":` + kinds + `}`
}

// newStore returns a store whose clock advances by a second and a nanosecond with every look.
func newStore(f *fake) *Store {
	now := time.Date(2026, 11, 21, 9, 26, 13, 690091419, time.UTC)
	var mu sync.Mutex
	return &Store{Cluster: f, Manager: "kapp", Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second + 1)
		return now
	}}
}

func specOf(t *testing.T, f *fake, namespace, name string) string {
	t.Helper()
	obj, ok := f.objects[object.Ref{Kind: "ConfigMap", Namespace: namespace, Name: name}]
	if !ok {
		t.Fatalf("there is no ConfigMap %s/%s among %v", namespace, name, f.names())
	}
	text, _, _ := unstructured.NestedString(obj.Object, "data", "spec")
	return text
}
