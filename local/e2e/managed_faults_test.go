package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/local/faults"
)

// TestControllerFaults breaks many requests of the controller while it keeps a package and an app.
// As long as it does, the records have every object. After that every Set becomes ready, as the
// source says, and objects of others are as they were.
func TestControllerFaults(t *testing.T) {
	installController(t)
	rounds, seed := seeded(t, roundsEnv, 3)
	t.Run("mixture", func(t *testing.T) { // so that the definition stays until the last one has ended
		for i := range rounds {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				inTurn(t)
				newFaultRound(t, rand.New(rand.NewPCG(seed, i))).run()
			})
		}
	})
}

// faultRound is a package and an app, which a controller keeps through a proxy.
type faultRound struct {
	t      *testing.T
	random *rand.Rand
	sets   []*round
	proxy  *faults.Proxy
	config string // path of the kubeconfig that leads through the proxy

	broken *replica
	starts int
	calm   atomic.Bool  // no request is broken
	seen   atomic.Int64 // requests other than watches
}

// newFaultRound starts a proxy and a controller.
func newFaultRound(t *testing.T, random *rand.Rand) *faultRound {
	t.Helper()
	f := &faultRound{t: t, random: random}
	for _, p := range kinds {
		r := newRound(t, p, true, random)
		r.managed = true
		t.Cleanup(func() { releaseSets(r.namespace) })
		check(t, grant(r.namespace))
		f.sets = append(f.sets, r)
	}
	choose := mixture(t, random)
	f.proxy, f.config = f.sets[0].proxy(t.Context(), func(n int, r *http.Request) faults.Kind {
		if !r.URL.Query().Has("watch") {
			f.seen.Add(1)
		}
		if f.calm.Load() {
			return faults.None
		}
		return choose(n, r)
	})
	f.start()
	return f
}

// start starts the controller. Like a pod it is started again when it has ended.
func (f *faultRound) start() {
	f.t.Helper()
	var namespaces []string
	for _, r := range f.sets {
		namespaces = append(namespaces, r.namespace)
	}
	dir := f.sets[0].path(fmt.Sprintf("replica-%d", f.starts))
	f.starts++
	f.broken = startReplica(f.t, dir, f.config, namespaces, "--leader-elect=false")
}

// run brings the Sets through some versions, and removes them.
func (f *faultRound) run() {
	f.t.Helper()
	versions := []int{0, 1, 0, 1}[:2+f.random.IntN(3)]
	for i, version := range versions {
		f.write(version)
		f.disturb(i == 0 && f.random.IntN(2) == 0)
	}
	last := versions[len(versions)-1]
	f.await("is ready", func(r *round) (bool, string) {
		return isKept(f.t, r.cluster, r.namespace, set)
	})
	for _, r := range f.sets {
		r.checkRecord()
		r.checkVersion(last)
	}
	f.remove()
}

// write writes the manifests of a version into the Sets.
func (f *faultRound) write(version int) {
	f.t.Helper()
	for _, r := range f.sets {
		manifests := r.expand(r.versions[version].manifests)
		applySet(f.t, r.cluster, keptSet(r.namespace, set, r.app, manifests))
	}
}

// disturb lets the controller send some requests, which are broken, and checks the records. It may
// kill the controller then.
func (f *faultRound) disturb(kill bool) {
	f.t.Helper()
	f.calm.Store(false)
	enough := f.seen.Load() + int64(f.random.IntN(2*maxRequests))
	until(f.t, "the controller sends requests", func() (bool, string) {
		f.startAgain()
		idle := true // a Set that is ready costs none
		for _, r := range f.sets {
			ready, _ := isKept(f.t, r.cluster, r.namespace, set)
			idle = idle && (ready || isGone(f.t, r.cluster, r.namespace, set))
		}
		return idle || f.seen.Load() >= enough, fmt.Sprint(f.seen.Load())
	})
	if kill {
		f.broken.signal(f.t, syscall.SIGKILL)
	}
	for _, r := range f.sets {
		r.checkRecord()
	}
}

// startAgain starts the controller if it has ended.
func (f *faultRound) startAgain() {
	f.t.Helper()
	if !f.broken.runs() {
		f.start()
	}
}

// await breaks no more requests, and waits until something is so of every Set.
func (f *faultRound) await(what string, is func(r *round) (bool, string)) {
	f.t.Helper()
	f.calm.Store(true)
	for _, r := range f.sets {
		until(f.t, fmt.Sprintf("the Set of %s %s", r.name, what), func() (bool, string) {
			f.startAgain()
			return is(r)
		})
	}
}

// remove deletes the Sets.
func (f *faultRound) remove() {
	f.t.Helper()
	for _, r := range f.sets {
		check(f.t, r.cluster.Resource(setsResource).Namespace(r.namespace).Delete(f.t.Context(), set,
			metav1.DeleteOptions{}))
	}
	f.disturb(false)
	f.await("is gone", func(r *round) (bool, string) {
		_, status := isKept(f.t, r.cluster, r.namespace, set)
		return isGone(f.t, r.cluster, r.namespace, set), status
	})
	f.t.Logf("%d starts of the controller, %d requests, broken: %q", f.starts, f.seen.Load(),
		f.proxy.Broken())
	for _, r := range f.sets {
		// A lock whose release was broken stays until another run takes it over.
		leases := r.cluster.Resource(watched["Lease"]).Namespace(r.namespace)
		check(f.t, leases.DeleteCollection(f.t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
		r.checkVersion(removed)
	}
}
