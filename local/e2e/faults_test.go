package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
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
	t.Parallel()
	installResourceGroup(t)
	rounds, seed := seeded(t, roundsEnv, 1)
	for _, p := range kinds {
		for k, kind := range faults.Transient {
			requests := uint64(maxRequests)
			if kind.OfWatches() {
				requests = maxWatches
			}
			for i := range rounds {
				t.Run(fmt.Sprintf("%s/%s/%d", p.name, kind, i), func(t *testing.T) {
					inTurn(t)
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
	t.Parallel()
	installResourceGroup(t)
	rounds, seed := seeded(t, roundsEnv, 2)
	for _, p := range kinds {
		for i := range rounds {
			t.Run(fmt.Sprintf("%s/%d", p.name, i), func(t *testing.T) {
				inTurn(t)
				random := rand.New(rand.NewPCG(seed, i))
				r := newRound(t, p, random.IntN(2) == 0, random)
				choose := mixture(t, random)
				for _, version := range []int{0, 1, removed} {
					e := r.broken(version, choose)
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

// mixture returns a function that breaks some requests, or some of those that write, with some
// kinds of faults.
func mixture(t *testing.T, random *rand.Rand) func(int, *http.Request) faults.Kind {
	kinds := slices.Clone(faults.All)
	random.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	kinds = kinds[:1+random.IntN(len(kinds))]
	every, writes := 2+random.IntN(30), random.IntN(2) == 0
	t.Logf("one request in %d is broken, writes alone: %t, by %s", every, writes, kinds)
	var mu sync.Mutex
	return func(_ int, r *http.Request) faults.Kind {
		mu.Lock()
		defer mu.Unlock()
		if writes && r.Method == http.MethodGet || random.IntN(every) > 0 {
			return faults.None
		}
		return kinds[random.IntN(len(kinds))]
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
	proxy, path := r.proxy(ctx, choose)
	e := r.start(ctx, version, path)
	r.finish(e)
	r.t.Logf("broken: %q", proxy.Broken())
	return e
}

// proxy starts a proxy that breaks requests, and returns the path of a kubeconfig that leads
// through it.
func (r *round) proxy(
	ctx context.Context, choose func(int, *http.Request) faults.Kind,
) (*faults.Proxy, string) {
	r.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	check(r.t, err)
	proxy, err := faults.Start(ctx, config, choose)
	check(r.t, err)
	path := r.path("kubeconfig-faults")
	check(r.t, writeProxyConfig(path, r.namespace, proxy))
	return proxy, path
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
