package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/muster-deploy/muster/local/faults"
)

// How many watches and how many other requests a command on a generated set sends, at most.
const maxWatches, maxRequests = 15, 60

// TestSingleFault breaks one request of a command, which must do its work nevertheless. In as many
// rounds as maxRequests, each request of each command is broken by each kind of fault.
func TestSingleFault(t *testing.T) {
	installResourceGroup(t)
	rounds, seed := fromEnv(t, roundsEnv, 1), fromEnv(t, seedEnv, rand.Uint64())
	t.Logf("%s=%d", seedEnv, seed)
	for _, p := range kinds {
		for k, kind := range faults.Transient {
			requests := uint64(maxRequests)
			if kind.OfWatches() {
				requests = maxWatches
			}
			for i := range rounds {
				t.Run(fmt.Sprintf("%s/%s/%d", p.name, kind, i), func(t *testing.T) {
					t.Parallel()
					random := rand.New(rand.NewPCG(seed, i))
					r := newRound(t, p, true, random)
					for _, version := range []int{0, 1, removed} {
						at := int((seed%requests + uint64(k) + i) % requests)
						e := r.broken(version, func(n int, _ *http.Request) faults.Kind {
							if n == at {
								return kind
							}
							return faults.None
						})
						if e.code != 0 {
							t.Errorf("%s ends with exit code %d", e, e.code)
						}
						r.checkVersion(version)
					}
				})
			}
		}
	}
}

// TestFaults breaks many requests of commands. They may fail, but must say so, end, lose nothing,
// and continue when they are run again.
func TestFaults(t *testing.T) {
	installResourceGroup(t)
	rounds, seed := fromEnv(t, roundsEnv, 2), fromEnv(t, seedEnv, rand.Uint64())
	t.Logf("%s=%d", seedEnv, seed)
	for _, p := range kinds {
		for i := range rounds {
			t.Run(fmt.Sprintf("%s/%d", p.name, i), func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(seed, i))
				r, every := newRound(t, p, random.IntN(2) == 0, random), 4+random.IntN(40)
				t.Logf("every %d-th request, about, is broken", every)
				for _, version := range []int{0, 1, removed} {
					e := r.broken(version, seldom(random, every))
					if e.code == 0 && version != removed { // a lock may be left, which the next run removes
						r.checkVersion(version)
					}
					r.checkRecord()
					r.must(version)
					r.checkVersion(version)
				}
			})
		}
	}
}

// seldom returns a function that breaks one of every so many requests with any fault.
func seldom(random *rand.Rand, every int) func(int, *http.Request) faults.Kind {
	var mu sync.Mutex
	return func(int, *http.Request) faults.Kind {
		mu.Lock()
		defer mu.Unlock()
		if random.IntN(every) > 0 {
			return faults.None
		}
		return faults.All[random.IntN(len(faults.All))]
	}
}

// kinds are a package and an app.
var kinds = []pair{{name: "package"}, {name: "app", app: true}}

// broken makes the cluster match a version through a proxy that breaks requests.
func (r *round) broken(
	version int, choose func(int, *http.Request) faults.Kind,
) *execution {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), hangTimeout)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	check(r.t, err)
	proxy, err := faults.Start(ctx, config, choose)
	check(r.t, err)
	path := r.path("kubeconfig-faults")
	check(r.t, writeProxyConfig(path, r.namespace, proxy))
	e := r.start(ctx, version, path)
	r.finish(e)
	r.t.Logf("broken: %q", proxy.Broken())
	return e
}

// writeProxyConfig writes a kubeconfig that leads through a proxy.
func writeProxyConfig(path, namespace string, proxy *faults.Proxy) error {
	config := api.NewConfig()
	config.Clusters["faults"] = &api.Cluster{
		Server: proxy.URL, CertificateAuthorityData: proxy.CA,
	}
	config.AuthInfos["faults"] = &api.AuthInfo{}
	config.Contexts["faults"] = &api.Context{
		Cluster: "faults", AuthInfo: "faults", Namespace: namespace,
	}
	config.CurrentContext = "faults"
	return clientcmd.WriteToFile(*config, path)
}
