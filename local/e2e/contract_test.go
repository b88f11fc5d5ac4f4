package e2e

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var recordContract = flag.Bool("record-contract", false,
	"write the answers of the server into internal/testing/enginetest/testdata/contract")

// TestContract makes the calls on the server whose answers the cluster in memory has to give: they
// are still those of the server. It has to be of the version that they were recorded on.
func TestContract(t *testing.T) {
	inTurn(t)
	recordedOn, err := serverAtLeast("server:1.36")
	check(t, err)
	if !recordedOn {
		t.Skip("the answers are those of Kubernetes 1.36")
	}
	test := exec.Command("go", "test", "-count=1", "-run", "^TestContract$",
		"./internal/testing/enginetest", "-timeout", "5m")
	if *recordContract {
		test.Args = append(test.Args, "-record")
	}
	test.Dir = filepath.Join("..", "..")
	test.Env = append(os.Environ(), "MUSTER_TEST_KUBECONFIG="+cluster.Kubeconfig())
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
