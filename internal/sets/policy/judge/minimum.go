package judge

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

const revision = "deployment.kubernetes.io/revision"

// enoughAvailable judges a Deployment that asks for a minimum, by its newest ReplicaSet.
func enoughAvailable(o live, minimum string) Judgement {
	replicas, found := o.integer("spec", "replicas")
	if !found {
		return failed("Error: Failed to find spec.replicas")
	}
	want, err := parseMinimum(minimum, replicas)
	if err != nil {
		return failed(fmt.Sprintf("Error: Failed to parse %s: %v", resource.AnnMinimumAvailable, err))
	}
	newest, err := o.newest()
	if err != nil {
		return ongoing(fmt.Sprintf("Waiting for latest replicaset: %v", err)) // it may exist unseen
	}
	if j, waits := newest.unobserved(); waits {
		return j
	}
	have := newest.count(0, "status", "availableReplicas")
	if !o.paused() { // else, the newest may still be that of the template before
		have = min(have, o.count(0, "status", "updatedReplicas"))
	}
	if have < want {
		return ongoing(
			fmt.Sprintf("Waiting for at least %d available replicas (currently %d available)", want-have,
				have),
		)
	}
	return done("")
}

// parseMinimum reads a number, or a percentage of the replicas. The result is at least one and at
// most all.
func parseMinimum(text string, replicas int64) (int64, error) {
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		return 0, err
	}
	if percent {
		n = replicas * n / 100
	}
	return max(1, min(n, replicas)), nil
}

// newest returns the ReplicaSet of the Deployment's present revision.
func (o live) newest() (live, error) {
	wanted, found := o.GetAnnotations()[revision]
	if !found {
		return live{}, errors.New("the deployment has no annotation " + revision)
	}
	for _, child := range o.children {
		if child.GroupVersionKind().GroupKind() == replicaSets &&
			child.GetAnnotations()[revision] == wanted {
			return live{Unstructured: child}, nil
		}
	}
	return live{}, fmt.Errorf("no replica set has revision %s", wanted)
}
