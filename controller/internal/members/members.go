// Package members watches the objects of Sets: it reports which Set has an object that somebody
// changed or deleted. It reads metadata alone, and keeps a few bytes for each object.
package members

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/muster-deploy/muster"

	"github.com/muster-deploy/muster/controller/internal/clusters"
)

// Watcher watches the objects of Sets.
type Watcher struct {
	changed func(set types.NamespacedName, again bool)

	mutex   sync.Mutex
	sets    map[types.NamespacedName]tracked
	sources map[place]*source
}

// tracked are the objects of one Set.
type tracked struct {
	places map[place][]string // names of objects, by place
}

// place is where objects of one kind are watched, and as whom.
type place struct {
	identity  string // its key
	resource  schema.GroupVersionResource
	namespace string // empty: cluster-scoped objects
}

// New returns a watcher. Changed is called, from any goroutine, for a Set with an object that was
// changed or deleted since Track: again says that the same managers own the same fields as before
// that, or before the last change, as when a controller writes an annotation every second. It must
// not block.
func New(changed func(set types.NamespacedName, again bool)) *Watcher {
	return &Watcher{
		changed: changed, sets: map[types.NamespacedName]tracked{}, sources: map[place]*source{},
	}
}

// Track watches the objects of a Set from now on, instead of those that it had. It reports whether
// some were not watched before: of these, changes until the watch has begun are not reported, so
// that who calls it has to look at the objects once more. Objects of unknown kinds are not watched.
func (w *Watcher) Track(
	ctx context.Context, set types.NamespacedName, as *clusters.Identity, objects []muster.Object,
) (fresh bool, err error) {
	t := tracked{places: map[place][]string{}}
	for _, o := range objects {
		resource, namespaced, err := as.Cluster.Resource(ctx, o)
		if err != nil {
			continue // a kind that the run brings along: the next run watches it
		}
		p := place{identity: as.Key, resource: resource}
		if namespaced {
			p.namespace = o.Namespace
		}
		t.places[p] = append(t.places[p], o.Name)
	}
	client, err := metadata.NewForConfig(as.Config)
	if err != nil {
		return false, fmt.Errorf("watch the objects: %w", err)
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.forget(set, func(p place) bool { return t.places[p] != nil })
	w.sets[set] = t
	for p, names := range t.places {
		s := w.sources[p]
		if s == nil {
			s = newSource(p, client, w.changed)
			w.sources[p] = s
			go s.run()
		}
		fresh = s.track(set, names) || fresh
	}
	return fresh, nil
}

// Forget ends the watches of a Set.
func (w *Watcher) Forget(set types.NamespacedName) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.forget(set, func(place) bool { return false })
	delete(w.sets, set)
}

// ForgetOthers ends the watches of a Set that are not those of an identity: the kubeconfig of its
// cluster is another one now.
func (w *Watcher) ForgetOthers(set types.NamespacedName, as *clusters.Identity) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	places := w.sets[set].places
	w.forget(set, func(p place) bool { return p.identity == as.Key })
	maps.DeleteFunc(places, func(p place, _ []string) bool { return p.identity != as.Key })
}

// forget ends the watches of a Set except at the places that stay.
func (w *Watcher) forget(set types.NamespacedName, stays func(place) bool) {
	for p := range w.sets[set].places {
		if stays(p) {
			continue
		}
		if s := w.sources[p]; s != nil && s.untrack(set) {
			s.stop()
			delete(w.sources, p)
		}
	}
}

// Stop ends all watches.
func (w *Watcher) Stop() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for p, s := range w.sources {
		s.stop()
		delete(w.sources, p)
	}
	w.sets = map[types.NamespacedName]tracked{}
}

// source watches one place. It is the store of a reflector: of each object of a Set it keeps a
// fingerprint, and of others nothing.
type source struct {
	place     place
	reflector *cache.Reflector
	changed   func(set types.NamespacedName, again bool)
	ctx       context.Context
	stop      context.CancelFunc

	mutex  sync.Mutex
	owners map[string][]types.NamespacedName // Sets, by the names of objects, which two may claim
	prints map[string]seen                   // by name
}

// seen is what was seen of an object last, and who owned its fields before: two managers may take
// them from each other again and again. The fingerprint of an object that is gone is empty.
type seen struct {
	last   Print
	owners [8]byte
}

// newSource returns a source. It watches once it runs.
func newSource(
	p place, client metadata.Interface, changed func(set types.NamespacedName, again bool),
) *source {
	s := &source{
		place: p, changed: changed,
		owners: map[string][]types.NamespacedName{}, prints: map[string]seen{},
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	at := client.Resource(p.resource).Namespace(p.namespace)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return at.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return at.Watch(ctx, o)
		},
	}
	s.reflector = cache.NewReflectorWithOptions(lw, &metav1.PartialObjectMetadata{}, s,
		cache.ReflectorOptions{Name: "members of " + p.resource.String()})
	return s
}

// run watches until the source is stopped.
func (s *source) run() { s.reflector.RunWithContext(s.ctx) }

// track adds objects of a Set, instead of those that it had here. It reports whether some are new.
func (s *source) track(set types.NamespacedName, names []string) (fresh bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	before := map[string]bool{}
	for name, sets := range s.owners {
		if i := slices.Index(sets, set); i >= 0 {
			before[name] = true
			s.owners[name] = slices.Delete(sets, i, i+1)
		}
	}
	for _, name := range names {
		s.owners[name] = append(s.owners[name], set)
		fresh = fresh || !before[name]
	}
	for name := range before {
		if len(s.owners[name]) == 0 {
			delete(s.owners, name)
			delete(s.prints, name)
		}
	}
	return fresh
}

// untrack removes the objects of a Set, and reports whether none of any Set are left.
func (s *source) untrack(set types.NamespacedName) bool {
	s.track(set, nil)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.owners) == 0
}

// see compares an object with what was seen of it before. It returns the Sets for which it has
// changed, and whether that is a repetition. What was not seen before may have changed since its
// Set was compared with the cluster.
func (s *source) see(name string, print Print) (sets []types.NamespacedName, again bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.owners[name]) == 0 {
		return nil, false
	}
	before, known := s.prints[name]
	if known && before.last == print {
		return nil, false
	}
	s.prints[name] = seen{print, before.last.Owners}
	gone := print == Print{} || before.last == Print{}
	again = known && !gone &&
		(print.Owners == before.last.Owners || print.Owners == before.owners)
	return slices.Clone(s.owners[name]), again
}

// report reports the Sets of an object that has changed.
func (s *source) report(name string, print Print) {
	sets, again := s.see(name, print)
	for _, set := range sets {
		s.changed(set, again)
	}
}

// Add implements cache.ReflectorStore.
func (s *source) Add(obj any) error { return s.Update(obj) }

// Update implements cache.ReflectorStore.
func (s *source) Update(obj any) error {
	if m, ok := obj.(*metav1.PartialObjectMetadata); ok {
		s.report(m.Name, PrintOf(&m.ObjectMeta))
	}
	return nil
}

// Delete implements cache.ReflectorStore.
func (s *source) Delete(obj any) error {
	if m, ok := obj.(*metav1.PartialObjectMetadata); ok {
		s.report(m.Name, Print{})
	}
	return nil
}

// Replace implements cache.ReflectorStore. A Set is reported once for all its objects.
func (s *source) Replace(list []any, _ string) error {
	prints := map[string]Print{}
	s.mutex.Lock()
	for name := range s.owners {
		prints[name] = Print{} // unless it is in the list
	}
	s.mutex.Unlock()
	for _, obj := range list {
		if m, ok := obj.(*metav1.PartialObjectMetadata); ok {
			prints[m.Name] = PrintOf(&m.ObjectMeta)
		}
	}
	repetitions := map[types.NamespacedName]bool{} // only if all changes are
	for name, print := range prints {
		sets, again := s.see(name, print)
		for _, set := range sets {
			before, known := repetitions[set]
			repetitions[set] = again && (before || !known)
		}
	}
	for set, again := range repetitions {
		s.changed(set, again)
	}
	return nil
}

// Resync implements cache.ReflectorStore.
func (s *source) Resync() error { return nil }

// Print is the fingerprint of an object. It changes with everything that somebody writes to the
// object, but not with what controllers report in its status.
type Print struct {
	Owners [8]byte // who owns which fields
	Writes [8]byte // when they were written, and how often the specification has changed
}

// PrintOf returns the fingerprint of an object.
func PrintOf(m *metav1.ObjectMeta) Print {
	owners, writes := []any{m.UID, m.DeletionTimestamp}, []any{m.Generation}
	counted := m.Generation > 0 // else two writes of one second look the same
	for _, f := range m.ManagedFields {
		if f.Subresource == "" {
			owners = append(owners, f.Manager, f.Operation, f.FieldsV1)
			writes = append(writes, f.Time)
		} else {
			counted = true // the version of the object changes with the status
		}
	}
	if !counted || len(writes) == 1 { // nobody says what was written
		writes = append(writes, m.ResourceVersion)
	}
	return Print{Owners: sum(owners), Writes: sum(writes)}
}

// sum returns the beginning of a hash of values.
func sum(values []any) [8]byte {
	data, err := json.Marshal(values)
	if err != nil { // JSON of the server can be written as JSON
		panic(err)
	}
	hash := sha256.Sum256(data)
	return [8]byte(hash[:8])
}
