package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// watchedLabel marks the objects that the bench watches.
const watchedLabel = "bench-watched"

// patience is how long the bench waits for what should be there within a second or two.
const patience = 2 * time.Minute

// observations is what a watch of the bench sees: for each object a value, as soon as it is there.
type observations struct {
	value func(runtime.Object) (key, value string)
	open  func(ctx context.Context, version string) (watch.Interface, error)

	mutex   sync.Mutex
	values  map[string]string
	waiting []*expectation
	err     error // that ended the watch
}

// expectation is a value that an object is expected to have.
type expectation struct {
	key   string
	meets func(value string) bool
	met   chan time.Time
}

// begin begins to watch from a version on. It ends with the context.
func (s *observations) begin(ctx context.Context, version string) {
	s.values = map[string]string{}
	go func() {
		for ctx.Err() == nil && s.failure() == nil {
			var err error
			if version, err = s.follow(ctx, version); err != nil {
				s.fail(err)
			}
		}
	}()
}

// follow watches until the watch ends, and returns the version for the next watch.
func (s *observations) follow(ctx context.Context, version string) (string, error) {
	events, err := s.open(ctx, version)
	if err != nil {
		return version, ignoreEnd(ctx, err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		now := time.Now()
		object, ok := event.Object.(metav1.Object)
		if !ok || event.Type == watch.Error {
			return version, ignoreEnd(ctx, apierrors.FromObject(event.Object))
		}
		version = object.GetResourceVersion()
		key, value := s.value(event.Object)
		if event.Type == watch.Deleted {
			value = ""
		}
		s.see(key, value, now)
	}
	return version, nil
}

// see takes a value, and sends the time to those who expect it.
func (s *observations) see(key, value string, at time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.values[key] = value
	s.waiting = slices.DeleteFunc(s.waiting, func(e *expectation) bool {
		if e.key != key || !e.meets(value) {
			return false
		}
		e.met <- at
		return true
	})
}

// fail notes that the watch has ended.
func (s *observations) fail(err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.err = err
}

// failure returns why the watch has ended.
func (s *observations) failure() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.err
}

// expect begins to wait for a value that comes from now on, and returns what waits for it. That
// returns when the value was seen.
func (s *observations) expect(
	key, what string, meets func(value string) bool,
) func(ctx context.Context) (time.Time, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	e := &expectation{key: key, meets: meets, met: make(chan time.Time, 1)}
	s.waiting = append(s.waiting, e)
	return func(ctx context.Context) (time.Time, error) {
		select {
		case at := <-e.met:
			return at, nil
		case <-ctx.Done():
			return time.Time{}, context.Cause(ctx)
		case <-time.After(patience):
			s.mutex.Lock()
			defer s.mutex.Unlock()
			return time.Time{}, fmt.Errorf("%s: %s not within %s, but %q (%v)", key, what, patience,
				s.values[key], s.err)
		}
	}
}

// await waits until an object has a value, now or later.
func (s *observations) await(ctx context.Context, key, value string) error {
	is := func(v string) bool { return v == value }
	wait := s.expect(key, value, is)
	s.mutex.Lock()
	there := is(s.values[key])
	s.mutex.Unlock()
	if there {
		return nil
	}
	_, err := wait(ctx)
	return err
}

// count returns how many objects have a value.
func (s *observations) count(value string) (n int, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, v := range s.values {
		if v == value {
			n++
		}
	}
	return n, s.err
}

// watchObjects watches the objects of Sets that have the label.
func (f *fleet) watchObjects(ctx context.Context) error {
	all := f.ground.client.CoreV1().ConfigMaps("")
	list, err := all.List(ctx, metav1.ListOptions{LabelSelector: watchedLabel})
	if err != nil {
		return err
	}
	f.objects = &observations{
		open: func(ctx context.Context, version string) (watch.Interface, error) {
			return all.Watch(ctx, metav1.ListOptions{
				LabelSelector: watchedLabel, ResourceVersion: version,
			})
		},
		value: func(o runtime.Object) (key, value string) {
			c := o.(*corev1.ConfigMap)
			return c.Namespace + "/" + c.Name, c.Data["value"]
		},
	}
	f.objects.begin(ctx, list.ResourceVersion)
	return nil
}

// watchSets watches the Sets.
func (f *fleet) watchSets(ctx context.Context) error {
	all := f.dynamic.Resource(setResource)
	list, err := all.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	f.sets = &observations{
		open: func(ctx context.Context, version string) (watch.Interface, error) {
			return all.Watch(ctx, metav1.ListOptions{ResourceVersion: version})
		},
		value: func(o runtime.Object) (key, value string) {
			set := o.(*unstructured.Unstructured)
			return set.GetNamespace() + "/" + set.GetName(), stateOf(set)
		},
	}
	f.sets.begin(ctx, list.GetResourceVersion())
	return nil
}

// The states of Sets.
const (
	setReady   = "ready"
	setWaits   = "waits for objects"
	setDrifted = "drifted: data.value by " + somebody
)

// stateOf returns the state of a Set, as its status says it.
func stateOf(set *unstructured.Unstructured) string {
	drifted, _, _ := unstructured.NestedSlice(set.Object, "status", "drifted") // nil if there is none
	if len(drifted) > 0 {
		first := drifted[0].(map[string]any)
		fields, _, _ := unstructured.NestedStringSlice(first, "fields")
		managers, _, _ := unstructured.NestedStringSlice(first, "managers")
		return fmt.Sprintf("drifted: %s by %s", firstOf(fields), firstOf(managers))
	}
	conditions, _, _ := unstructured.NestedSlice(set.Object, "status", "conditions")
	state := ""
	for _, c := range conditions {
		condition := c.(map[string]any)
		kind, status := condition["type"], condition["status"]
		switch {
		case kind == "Reconciling" && status == "True" && condition["reason"] == "Waiting":
			return setWaits
		case kind == "Ready" && status == "True" &&
			condition["observedGeneration"] == set.GetGeneration():
			state = setReady
		}
	}
	return state
}

// firstOf returns the first of some texts; empty for none.
func firstOf(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[0]
}
