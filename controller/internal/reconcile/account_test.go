package reconcile

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/clusters"
	"github.com/muster-deploy/muster/controller/internal/gate"
	"github.com/muster-deploy/muster/controller/internal/members"
	"github.com/muster-deploy/muster/controller/internal/metrics"
	"github.com/muster-deploy/muster/controller/internal/run"
	"github.com/muster-deploy/muster/controller/internal/source"
)

// counts are the metrics of all tests: they can be registered once.
var counts = sync.OnceValue(func() *metrics.Counts { return metrics.New(fake.NewFakeClient()) })

// users is a server that refuses every request, and notes as whom it was sent. A client asks for
// both lists of kinds at once, and is done with the first refusal: each waits for the other, so
// that no request of a run arrives after its end.
type users struct {
	both  chan struct{}
	mutex sync.Mutex
	names []string
}

// ServeHTTP implements http.Handler.
func (u *users) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.add(r.Header.Get("Impersonate-User"))
	switch r.URL.Path {
	case "/api":
		select {
		case u.both <- struct{}{}:
		case <-r.Context().Done():
		}
	case "/apis":
		select {
		case <-u.both:
		case <-r.Context().Done():
		}
	}
	http.Error(w, "no", http.StatusForbidden)
}

// add notes a user.
func (u *users) add(name string) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if !slices.Contains(u.names, name) {
		u.names = append(u.names, name)
	}
}

// take returns the users since the last call.
func (u *users) take() []string {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	names := u.names
	u.names = nil
	return names
}

// lagging is a client that writes to a server, and reads from a cache which is older.
type lagging struct {
	client.Client
	cache client.Client
}

// Get reads from the cache.
func (l lagging) Get(
	ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption,
) error {
	return l.cache.Get(ctx, key, o, options...)
}

// plane is a reconciler with a cache and a server of its own.
type plane struct {
	*Reconciler
	cache, server client.WithWatch
	users         *users
}

// newPlane returns a reconciler of which neither the cache nor the server has anything.
func newPlane(t *testing.T) *plane {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	build := func() client.WithWatch {
		return fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.Set{}).Build()
	}
	p := &plane{cache: build(), server: build(), users: &users{both: make(chan struct{})}}
	api := httptest.NewServer(p.users)
	t.Cleanup(api.Close)
	p.Reconciler = &Reconciler{
		Client: lagging{p.server, p.cache}, Reader: p.server,
		Recorder: events.NewFakeRecorder(100), Counts: counts(),
		base: t.Context(), wake: make(chan event.TypedGenericEvent[types.NamespacedName], 100),
	}
	p.Members = members.New(p.Touched)
	p.Sources = &source.Fetcher{Reader: p.server, Dir: t.TempDir()}
	p.Runner = &run.Runner{
		Pool: clusters.NewPool(&rest.Config{Host: api.URL}, p.server, "test", nil),
		Gate: gate.New(1, 1, nil), Sources: p.Sources, Members: p.Members,
		BeforeWrite: p.BeforeWrite, BeforeDelete: p.BeforeDelete, Changed: p.Changed,
	}
	return p
}

// shop returns a Set of a generation with a service account.
func shop(uid types.UID, generation int64, account string) *v1alpha1.Set {
	return &v1alpha1.Set{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "shop", UID: uid, Generation: generation,
		},
		Spec: v1alpha1.SetSpec{
			ServiceAccountName: account, Source: v1alpha1.Source{Inline: &account},
		},
	}
}

// put writes a Set in place of the one that is there.
func put(t *testing.T, to client.Client, set *v1alpha1.Set) {
	t.Helper()
	_ = to.Delete(t.Context(), set.DeepCopy()) // there may be none
	created := set.DeepCopy()
	created.ResourceVersion = ""
	if err := to.Create(t.Context(), created); err != nil {
		t.Fatal(err)
	}
	created.Status = set.Status
	if err := to.Status().Update(t.Context(), created); err != nil {
		t.Fatal(err)
	}
}

// step reconciles the Set once, and returns the users of the run that was under way then.
func (p *plane) step(t *testing.T) []string {
	t.Helper()
	name := types.NamespacedName{Namespace: "shop", Name: "shop"}
	if _, err := p.Reconcile(t.Context(), ctrl.Request{NamespacedName: name}); err != nil {
		t.Fatal(err)
	}
	if s := p.states.of(name); s.run != nil {
		<-s.run.Done()
	}
	return p.users.take()
}

// TestAccountOfSpec: a run deploys as the account of the spec that it deploys, also if the cache
// has an older spec, or an older Set of the same name.
func TestAccountOfSpec(t *testing.T) {
	const user = "system:serviceaccount:shop:"
	const admin, restricted = user + "admin", user + "restricted"
	windows := []v1alpha1.Window{{Cron: "* * * * *", Duration: metav1.Duration{Duration: 60e9}}}
	for _, test := range []struct {
		name    string
		change  *v1alpha1.Set // on the server, before the cache has it
		windows []v1alpha1.Window
		ran     bool // before the change
	}{
		{name: "a newer spec", change: shop("1", 2, "restricted"), ran: true},
		{name: "another Set", change: shop("2", 1, "restricted"), ran: true},
		{name: "a newer spec with windows", change: shop("1", 2, "restricted"), windows: windows},
		{name: "another Set with windows", change: shop("2", 1, "restricted"), windows: windows},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, before := newPlane(t), shop("1", 1, "admin")
			before.Spec.Windows, test.change.Spec.Windows = test.windows, test.windows
			put(t, p.cache, before)
			put(t, p.server, before)
			if got := p.step(t); test.ran && !slices.Equal(got, []string{admin}) {
				t.Fatalf("the first run acts as %q", got)
			} else if !test.ran {
				p.states.forget(client.ObjectKeyFromObject(before))
			}
			put(t, p.server, test.change)
			got := p.step(t) // before the cache has the change
			put(t, p.cache, test.change)
			if got = append(got, p.step(t)...); !slices.Equal(got, []string{restricted}) {
				t.Errorf("after the change, runs act as %q", got)
			}
		})
	}
}
