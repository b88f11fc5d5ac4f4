package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/muster-deploy/muster/local/plane"
)

// maxDown is how long a killed component may be away.
const maxDown = 8 * time.Second

// TestKills kills the API server or etcd at some moment of a command, and starts it again some time
// later. The command may fail, but must say so, end, lose nothing, and continue when it is run
// again. The plane is shared: nothing may run beside it.
func TestKills(t *testing.T) {
	installResourceGroup(t)
	rounds, seed := seeded(t, roundsEnv, 1)
	for i := range rounds {
		for c, component := range []string{"kube-apiserver", "etcd"} {
			p := kinds[(seed+i+uint64(c))%2]
			t.Run(fmt.Sprintf("%s/%s/%d", component, p.name, i), func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, i))
				r := newRound(t, p, random.IntN(2) == 0, random)
				version := []int{0, 1, removed}[random.IntN(3)]
				if version != 0 {
					r.must(0)
				}
				e := r.killed(component, version)
				if e.code == 0 && version != removed {
					r.checkVersion(version)
				}
				r.checkRecord()
				r.must(version)
				r.checkVersion(version)
			})
		}
	}
}

// killed makes the cluster match a version while a component of the plane is killed and started
// again.
func (r *round) killed(component string, version int) *execution {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), hangTimeout)
	defer cancel()
	moments := []time.Duration{200 * time.Millisecond, time.Second, 2 * time.Second}
	moment := time.Duration(r.random.Int64N(int64(moments[r.random.IntN(len(moments))])))
	down := time.Duration(r.random.Int64N(int64(maxDown)))
	e := r.start(ctx, version, r.path("kubeconfig"))
	select {
	case <-time.After(moment):
	case <-e.done:
	}
	check(r.t, kill(component))
	select {
	case <-time.After(down):
	case <-e.done: // without an answer it has given up
	}
	check(r.t, startPlane(r.t.Context()))
	if component == "etcd" {
		// Controllers whose watches outlive etcd may hear nothing for minutes, until these time out.
		// New ones begin with new watches.
		for _, controllers := range []string{"kube-controller-manager", "kube-scheduler", "kwok"} {
			check(r.t, kill(controllers))
		}
		check(r.t, startPlane(r.t.Context()))
	}
	r.t.Logf("%s was killed after %s and away for %s", component, moment, down)
	r.finish(e)
	return e
}

// kill kills a component of the plane and returns when it is gone.
func kill(component string) error {
	ctx := context.Background()
	status := func() (plane.ComponentStatus, error) {
		for _, c := range cluster.Status(ctx) {
			if c.Name == component {
				return c, nil
			}
		}
		return plane.ComponentStatus{}, fmt.Errorf("the plane has no component %s", component)
	}
	c, err := status()
	if err == nil {
		err = syscall.Kill(c.PID, syscall.SIGKILL)
	}
	for err == nil && c.Alive {
		c, err = status()
	}
	return err
}
