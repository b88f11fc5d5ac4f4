package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestArgoCD runs the scripts of testdata/argocd beside Argo CD, which is in the namespace argocd
// and syncs the Applications of all namespaces. No other script runs beside these: some define
// kinds of the same names.
func TestArgoCD(t *testing.T) {
	dir := otherControllers(t, "argocd", "argocd")
	installResourceGroup(t)
	installDefinitions(t, filepath.Join(dir, "definitions.yaml"))
	installation := filepath.Join("testdata", "argocd", "installation.yaml")
	apply := exec.Command("kubectl", "apply", "-f", installation, "--kubeconfig", cluster.Kubeconfig())
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("install Argo CD: %v\n%s", err, out)
	}
	startArgoCD(t, filepath.Join(dir, "argocd"))
	p := params("argocd")
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		if err := setup(env); err != nil {
			return err
		}
		namespace := env.Getenv("NS")
		env.Defer(func() { // Argo CD has to remove its finalizers
			_ = exec.Command("kubectl", "delete", "--all", "-n", namespace, "--timeout=1m",
				"--kubeconfig", cluster.Kubeconfig(), "applications.argoproj.io").Run()
		})
		return nil
	}
	testscript.Run(t, p)
}

// startArgoCD starts the parts of Argo CD. They look for new commits every second.
func startArgoCD(t *testing.T, program string) {
	t.Helper()
	redis, repositories := freeAddress(t), freeAddress(t)
	port := func(address string) string { return address[strings.LastIndex(address, ":")+1:] }
	for _, args := range [][]string{
		{"redis", redis},
		{
			"repo-server", "--address=127.0.0.1", "--port=" + port(repositories),
			"--metrics-address=127.0.0.1", "--metrics-port=" + port(freeAddress(t)),
			"--redis=" + redis, "--disable-tls", "--revision-cache-expiration=1s",
		},
		{
			"application-controller", "--namespace=argocd", "--application-namespaces=*",
			"--repo-server=" + repositories, "--repo-server-plaintext", "--redis=" + redis,
			"--metrics-port=" + port(freeAddress(t)), "--app-resync=1", "--app-resync-jitter=0",
			"--repo-error-grace-period-seconds=0",
		},
	} {
		dir := t.TempDir()
		cmd := exec.Command(program, args...)
		_, err := cmd.StdinPipe() // the part ends with it
		check(t, err)
		cmd.Env = append(cmd.Environ(), "TMPDIR="+dir, "ARGOCD_GPG_ENABLED=false",
			"ARGOCD_FAKE_IN_CLUSTER=true", "ARGOCD_ASK_PASS_SOCK="+filepath.Join(dir, "askpass"))
		startProcess(t, dir, cluster.Kubeconfig(), cmd)
	}
}
