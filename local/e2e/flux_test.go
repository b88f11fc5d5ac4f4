package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestFlux runs the scripts of testdata/flux beside the controllers of Flux. No other script runs
// beside these: some define kinds of the same names.
func TestFlux(t *testing.T) {
	const source, kustomize = "source-controller", "kustomize-controller"
	dir := otherControllers(t, "flux", source, kustomize)
	installController(t)
	for _, name := range []string{source, kustomize} {
		installDefinitions(t, filepath.Join(dir, name+".yaml"))
	}
	storage, address := t.TempDir(), freeAddress(t)
	for name, flags := range map[string][]string{
		source: {
			"--storage-path=" + storage, "--storage-addr=" + address, "--storage-adv-addr=" + address,
		},
		kustomize: nil,
	} {
		cmd := exec.Command(filepath.Join(dir, name), append(flags, "--metrics-addr=0",
			"--health-addr=0", "--requeue-dependency=1s", "--max-retry-delay=1s")...)
		startProcess(t, t.TempDir(), cluster.Kubeconfig(), cmd)
	}
	p := controllerParams("flux")
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		if err := setup(env); err != nil {
			return err
		}
		namespace := env.Getenv("NS")
		env.Defer(func() { // the controllers have to remove their finalizers
			_ = exec.Command("kubectl", "delete", "--all", "-n", namespace, "--timeout=1m",
				"--kubeconfig", cluster.Kubeconfig(), "kustomizations.kustomize.toolkit.fluxcd.io,"+
					"gitrepositories.source.toolkit.fluxcd.io").Run() // the script reports failures
		})
		return nil
	}
	testscript.Run(t, p)
}

// controllersEnv is the environment variable that makes it a failure, with the value required, if a
// controller of another project was not built.
const controllersEnv = "MUSTER_TEST_CONTROLLERS"

// otherControllers returns the folder with programs of another project. Without these the test is
// skipped.
func otherControllers(t *testing.T, project string, programs ...string) string {
	t.Helper()
	dir := filepath.Join(bin, project)
	for _, name := range programs {
		_, err := os.Stat(filepath.Join(dir, name))
		if err != nil && os.Getenv(controllersEnv) == "required" {
			t.Fatalf(`run "make build-%s": %v`, project, err)
		} else if err != nil {
			t.Skipf(`"make build-%s" builds %s, which the test needs`, project, name)
		}
	}
	return dir
}

// installDefinitions installs the definitions in a file, and removes them after the test.
func installDefinitions(t *testing.T, file string) {
	t.Helper()
	run := func(args ...string) {
		args = append(args, "-f", file, "--kubeconfig", cluster.Kubeconfig())
		if out, err := exec.Command("kubectl", args...).CombinedOutput(); err != nil {
			t.Errorf("kubectl %v: %v\n%s", args, err, out)
		}
	}
	run("apply", "--server-side")
	t.Cleanup(func() { run("delete", "--ignore-not-found", "--timeout=2m") })
	// A definition has no conditions at first, which --for=condition takes for an error.
	run("wait", `--for=jsonpath={.status.conditions[?(@.type=="Established")].status}=True`,
		"--timeout=1m")
}

// freeAddress returns an address of this host on which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	check(t, listener.Close())
	return listener.Addr().String()
}
