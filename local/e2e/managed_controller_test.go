package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// TestController runs the scripts of testdata/controller: the controller keeps the Sets of the
// namespace of the script. No other script runs beside these; see TestManaged.
func TestController(t *testing.T) {
	installController(t)
	testscript.Run(t, controllerParams("controller"))
}

// controllerParams returns the parameters of scripts that start controllers of Sets.
func controllerParams(dir string) testscript.Params {
	p := params(dir)
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		if err := setup(env); err != nil {
			return err
		}
		held := &controllers{}
		env.Values[controllersKey{}] = held
		env.Values[askedKey{}] = &askedPermissions{seen: map[permission]bool{}}
		namespace := env.Getenv("NS")
		env.Defer(func() {
			_ = held.end(all, os.Kill) // they may have ended
			releaseSets(namespace)
		})
		if err := writeControllerConfig(filepath.Join(env.WorkDir, controllerConfig)); err != nil {
			return err
		}
		return grant(namespace)
	}
	p.Cmds["controller"] = startController
	p.Cmds["endcontroller"] = endController
	p.Cmds["recordcontroller"] = recordController
	p.Cmds["permissions"] = checkPermissions
	return p
}

// releaseSets lets the Sets of a namespace be deleted without a controller.
func releaseSets(namespace string) {
	names, err := exec.Command("kubectl", "get", "sets.muster.dev", "-o", "name", "-n", namespace,
		"--kubeconfig", cluster.Kubeconfig()).Output()
	if err != nil {
		return // the removal of the definition fails then
	}
	for name := range strings.FieldsSeq(string(names)) {
		_ = exec.Command("kubectl", "patch", name, "-n", namespace, "--type=merge",
			"-p", `{"metadata":{"finalizers":null}}`, "--kubeconfig", cluster.Kubeconfig()).Run()
	}
}

// controllerConfig is the kubeconfig of the controllers of a script, in its folder.
const controllerConfig = "controller.kubeconfig"

// writeControllerConfig writes a kubeconfig with the service account of the controller, so that it
// has the permissions of its manifests.
func writeControllerConfig(path string) error {
	token, err := exec.Command("kubectl", "create", "token", "muster-controller", "-n",
		"muster-system", "--duration=1h", "--kubeconfig", cluster.Kubeconfig()).Output()
	if err != nil {
		return fmt.Errorf("create a token for the controller: %w", err)
	}
	config, err := clientcmd.LoadFromFile(cluster.Kubeconfig())
	if err != nil {
		return err
	}
	config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo] = &clientcmdapi.AuthInfo{
		Token: strings.TrimSpace(string(token)),
	}
	return clientcmd.WriteToFile(*config, path)
}

// grant lets the service account deployer of a namespace change everything in it, and the
// controller elect a leader there.
func grant(namespace string) error {
	if err := grantElections(namespace); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"create", "serviceaccount", "deployer"},
		{"create", "rolebinding", "deployer", "--clusterrole=cluster-admin",
			"--serviceaccount=" + namespace + ":deployer"},
		{"create", "rolebinding", "elections", "--role=elections",
			"--serviceaccount=muster-system:muster-controller"},
	} {
		args = append(args, "--kubeconfig", cluster.Kubeconfig(), "-n", namespace)
		if out, err := exec.Command("kubectl", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	return nil
}

// controllersKey is the key of the controllers of a script among its values.
type controllersKey struct{}

// controllers are the processes of a script, in the order of their start.
type controllers struct{ running []*exec.Cmd }

// all are all processes.
const all = -1

// end sends a signal to all processes, or only to one by its index, and waits for the end.
func (c *controllers) end(only int, signal os.Signal) error {
	ending, rest := c.running, []*exec.Cmd(nil)
	if only >= 0 {
		ending = c.running[only : only+1]
		rest = slices.Delete(slices.Clone(c.running), only, only+1)
	}
	var errs []error
	for _, cmd := range slices.Backward(ending) {
		errs = append(errs, cmd.Process.Signal(signal))
		if exit := (*exec.ExitError)(nil); !errors.As(cmd.Wait(), &exit) && signal == os.Kill {
			errs = append(errs, errors.New("the controller had ended by itself"))
		}
	}
	c.running = rest
	return errors.Join(errs...)
}

// startController starts a controller for the namespace of the script. Its log is in the file
// controller-N.log. It elects no leader unless the flag --leader-elect asks for that: a leader ends
// if the server does not answer for some seconds.
func startController(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, true, neg, "controller [FLAG]...")
	held := ts.Value(controllersKey{}).(*controllers)
	number := len(held.running) + 1
	path := ts.MkAbs(fmt.Sprintf("controller-%d.log", number))
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	defer log.Close()
	work := ts.MkAbs(fmt.Sprintf("work-%d", number))
	ts.Check(os.MkdirAll(work, 0o700))
	cmd := exec.Command(filepath.Join(bin, "muster-controller"), append([]string{
		"--namespace=" + ts.Getenv("NS"),
		"--leader-elect=false", "--leader-election-namespace=" + ts.Getenv("NS"),
		"--metrics-bind-address=0", "--health-probe-bind-address=0", "--work-dir=" + work,
	}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+ts.MkAbs(controllerConfig), "HOME="+ts.Getenv("HOME"),
		defectVariable(ts))
	cmd.Stdout, cmd.Stderr = log, log
	ts.Check(cmd.Start())
	held.running = append(held.running, cmd)
}

// endController ends the controllers of a script, or one of those that run, by its number: as the
// end of its pod does, or at once.
func endController(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) > 0 && len(args) <= 2 && (args[0] == "kill" || args[0] == "stop"), neg,
		"endcontroller kill | stop [NUMBER]")
	only := all
	if len(args) == 2 {
		only = number(ts, args[1]) - 1
	}
	signal := os.Signal(os.Interrupt)
	if args[0] == "kill" {
		signal = os.Kill
	}
	ts.Check(ts.Value(controllersKey{}).(*controllers).end(only, signal))
}
