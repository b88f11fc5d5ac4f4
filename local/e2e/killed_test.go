package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/muster-deploy/muster/local/faults"
)

// richKinds are a package and an app with objects of many kinds.
var richKinds = []pair{{name: "package", rich: true}, {name: "app", app: true, rich: true}}

// TestCrash kills commands at a random request. Run again to the end, possibly for another version,
// they find all that is there: nothing is lost, nobody else's objects have changed.
func TestCrash(t *testing.T) {
	t.Parallel()
	installResourceGroup(t)
	rounds, seed := seeded(t, roundsEnv, 1)
	for _, p := range richKinds {
		for _, version := range []int{0, 1, removed} {
			for i := range rounds {
				t.Run(fmt.Sprintf("%s/%d/%d", p.name, version, i), func(t *testing.T) {
					inTurn(t)
					random := rand.New(rand.NewPCG(seed, i))
					// The lock of a command that was killed is in the way for half a minute.
					r := newRound(t, p, random.IntN(4) == 0, random)
					if version != 0 {
						r.must(0)
					}
					for range 1 + random.IntN(3) {
						r.crash(ofApply, func(ctx context.Context, kubeconfig string) *execution {
							return r.start(ctx, version, kubeconfig)
						})
						r.checkRecord()
					}
					last := version
					if random.IntN(3) == 0 {
						last = []int{0, 1, removed}[random.IntN(3)]
						r.awaitDeletions() // what is being deleted cannot be applied
					}
					r.must(last)
					r.checkVersion(last)
				})
			}
		}
	}
}

// awaitDeletions waits until the objects are gone that are being deleted.
func (r *round) awaitDeletions() {
	r.t.Helper()
	pause := time.NewTicker(100 * time.Millisecond)
	defer pause.Stop()
	for last := time.Now().Add(hangTimeout); ; <-pause.C {
		leaving := ""
		for key, obj := range r.contents() {
			if obj.GetDeletionTimestamp() != nil {
				leaving = key
			}
		}
		if leaving == "" {
			return
		}
		if time.Now().After(last) {
			r.t.Fatalf("%s is never gone", leaving)
		}
	}
}

// TestCrashMigrate kills the migration of an inventory that is a ConfigMap.
func TestCrashMigrate(t *testing.T) {
	t.Parallel()
	installResourceGroup(t)
	rounds, seed := seeded(t, roundsEnv, 2)
	for i := range rounds {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			inTurn(t)
			random := rand.New(rand.NewPCG(seed, i))
			r := newRound(t, kinds[0], true, random)
			check(t, os.Remove(r.path("v0/resourcegroup.yaml")))
			r.write("v0/inventory-template.yaml", inventoryTemplate)
			r.must(0)
			migrate := func(ctx context.Context, kubeconfig string) *execution {
				return r.execute(ctx, []string{"muster", "migrate", "v0", "--name", set}, kubeconfig)
			}
			for range 1 + random.IntN(3) {
				r.crash(ofMigrate, migrate)
			}
			e := migrate(t.Context(), r.path("kubeconfig"))
			if r.finish(e); e.code != 0 {
				t.Errorf("%s alone ends with exit code %d", e, e.code)
			}
			r.checkVersion(0)
			r.must(removed) // and with it the older inventory, or it is left
			r.checkVersion(removed)
		})
	}
}

// inventoryTemplate is the older record of a package, as its folder names it.
const inventoryTemplate = `apiVersion: v1
kind: ConfigMap
metadata:
  name: inventory
  namespace: ${NS}
  labels: {cli-utils.sigs.k8s.io/inventory-id: ` + set + `}
`

// How many requests the commands that are killed send, about.
const ofApply, ofMigrate = 32, 12

// crash starts a command that sends about so many requests, and kills it at one of them: at any, or
// in half of the cases at one that writes; before or after the server has acted, or a moment
// later. A command that sends fewer requests ends by itself.
func (r *round) crash(
	requests int, start func(ctx context.Context, kubeconfig string) *execution,
) {
	r.t.Helper()
	r.crashAfter(nil, requests, start)
}

// crashAfter is like crash, but counts only the requests after the first one for which begins
// returns true; nil counts all.
func (r *round) crashAfter(
	begins func(*http.Request) bool, requests int,
	start func(ctx context.Context, kubeconfig string) *execution,
) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), hangTimeout)
	defer cancel()
	writes := r.random.IntN(2) == 0
	if writes {
		requests /= 2
	}
	at := int64(r.random.IntN(requests))
	kind := []faults.Kind{faults.Hold, faults.HoldAfter}[r.random.IntN(2)]
	more := time.Duration(r.random.Int64N(int64(3 * time.Millisecond)))
	var seen atomic.Int64
	var begun atomic.Bool
	proxy, path := r.proxy(ctx, func(_ int, request *http.Request) faults.Kind {
		if begins != nil && !begun.Load() {
			begun.Store(begins(request))
			return faults.None
		}
		counts := !request.URL.Query().Has("watch") &&
			(!writes || request.Method != http.MethodGet)
		if counts && seen.Add(1)-1 == at {
			return kind
		}
		return faults.None
	})
	e := start(ctx, path)
	select {
	case <-proxy.Held:
		time.Sleep(more) // other requests do not wait
		check(r.t, syscall.Kill(e.pid, syscall.SIGKILL))
		<-e.done
		r.t.Logf("killed: %s, at %q\n%s[stderr]\n%s", e, proxy.Broken(), &e.stdout, &e.stderr)
	case <-e.done:
		r.finish(e)
	}
}
