package cmd

import (
	"fmt"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/view"
)

// target is a set in a cluster, which a command is about to change.
type target struct {
	cluster      sets.Cluster
	place, title string // what messages call the cluster and the set
}

// newTarget returns the target for a set in a cluster.
func newTarget(kube *cli.Kube, c sets.Cluster, set sets.Set) (target, error) {
	place, err := kube.Place(c.Host())
	if err != nil {
		return target{}, err
	}
	namespace, _ := set.Name()
	return target{c, place, fmt.Sprintf("%s in namespace %s", set.Title(), namespace)}, nil
}

// print prints the target and the number of objects of the plan on standard error, so that users
// notice a wrong cluster. Outputs for programs are left alone.
func (t target) print(env *cli.Env, output string, op sets.Operation) {
	if output != view.OutputText && output != view.OutputTable {
		return
	}
	count, noun := len(op.Plan().Refs()), "objects"
	if count == 1 {
		noun = "object"
	}
	env.Notice(fmt.Sprintf("%s: %d %s of %s", t.place, count, noun, t.title))
}
