package e2e

import (
	"context"
	"os/exec"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestManaged runs the commands on Sets. The kind of Sets is that of the whole cluster, and where
// it is known every native command that changes a set sends one request more, so that no other
// script runs beside these.
func TestManaged(t *testing.T) {
	installResourceGroup(t)
	t.Cleanup(func() { removeSets(t) }) // scripts do so themselves, unless they have failed
	testscript.Run(t, params("managed"))
}

// TestShowSets runs the commands that show a Set and what it keeps, and those that wait for one.
// The scripts write the statuses. No other script runs beside these; see TestManaged.
func TestShowSets(t *testing.T) {
	installResourceGroup(t)
	install := exec.Command("kubectl", "apply", "--kubeconfig", cluster.Kubeconfig(), "-f",
		"../../deploy/crds/sets.yaml")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("install the definition of Sets: %v\n%s", err, out)
	}
	t.Cleanup(func() { removeSets(t) })
	awaitSets(t)
	testscript.Run(t, params("showsets"))
}

// awaitSets waits until the server lists the kind Set, which it does a moment after it is defined.
func awaitSets(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangTimeout)
	defer cancel()
	for {
		list := exec.CommandContext(ctx, "kubectl", "get", "sets.muster.dev", "--all-namespaces",
			"--kubeconfig", cluster.Kubeconfig())
		out, err := list.CombinedOutput()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("wait for the kind Set: %v\n%s", err, out)
		}
	}
}

// removeSets removes the definition of Sets.
func removeSets(t *testing.T) {
	t.Helper()
	remove := exec.Command("kubectl", "delete", "crd", "sets.muster.dev", "--ignore-not-found",
		"--timeout=1m", "--kubeconfig", cluster.Kubeconfig())
	if out, err := remove.CombinedOutput(); err != nil {
		t.Errorf("remove the definition of Sets: %v\n%s", err, out)
	}
}

// TestDeploy deploys the controller.
func TestDeploy(t *testing.T) {
	installResourceGroup(t)
	testscript.Run(t, params("deploy"))
}
