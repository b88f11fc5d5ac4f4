package e2e

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// Environment variables for the number of rounds of each pair, and for their seed.
const (
	roundsEnv = "MUSTER_E2E_ROUNDS"
	seedEnv   = "MUSTER_E2E_SEED"
)

// pair is two commands that change one set at the same time: two versions of it, or one version and
// its removal.
type pair struct {
	name         string
	app, removes bool
	rich         bool // the set has a namespace, a definition and versions of objects, too
	serverSide   bool // the commands use server-side apply
}

var pairs = []pair{
	{name: "apply_apply"},
	{name: "apply_destroy", removes: true},
	{name: "deploy_deploy", app: true},
	{name: "deploy_delete", app: true, removes: true},
}

// TestPairs runs pairs of commands on generated sets, with and without the lock, every other round
// by server-side apply. A round is a test of its own: with the seed and the name of the round, the
// same sets meet in the same way.
func TestPairs(t *testing.T) {
	t.Parallel()
	installResourceGroup(t)
	rounds, seed := seeded(t, roundsEnv, 2)
	for _, p := range pairs {
		for _, locked := range []bool{true, false} {
			for i := range rounds {
				t.Run(fmt.Sprintf("%s/lock=%t/%d", p.name, locked, i), func(t *testing.T) {
					inTurn(t)
					random := rand.New(rand.NewPCG(seed, uint64(i)))
					p.serverSide = i%2 == 1
					newRound(t, p, locked, random).run()
				})
			}
		}
	}
}

// seeded returns how long a test with generated inputs runs, as an environment variable or else a
// default says, and its seed. Where the variable is set, the test looks for failures that nobody
// knows yet; elsewhere it is the same each time.
func seeded(t *testing.T, name string, otherwise uint64) (number, seed uint64) {
	t.Helper()
	number, seed = fromEnv(t, name, otherwise), 11
	if os.Getenv(name) != "" {
		seed = rand.Uint64()
	}
	seed = fromEnv(t, seedEnv, seed)
	t.Logf("%s=%d", seedEnv, seed)
	return number, seed
}

// fromEnv returns the number in an environment variable, or another one if it is not set.
func fromEnv(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	number, err := strconv.ParseUint(text, 10, 64)
	check(t, err)
	return number
}

// check ends the test if there is an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// round is one round of a pair, in a namespace of its own.
type round struct {
	pair
	t         *testing.T
	random    *rand.Rand
	locked    bool
	managed   bool   // a Set of the name has it deployed
	dir       string // working directory of the commands
	namespace string
	versions  [2]version
	cluster   dynamic.Interface
	foreign   contents // as they were at the beginning
}

// removed stands for no version, that is, the removal of the set.
const removed = -1

// set is the name of the set and the ID of its inventory.
const set = "pairs"

func newRound(t *testing.T, p pair, locked bool, random *rand.Rand) *round {
	t.Helper()
	r := &round{
		pair: p, t: t, random: random, locked: locked, dir: t.TempDir(),
		namespace: "pairs-" + utilrand.String(10), versions: versions(random, p.app),
	}
	check(t, createNamespace(t.Cleanup, r.namespace))
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	check(t, err)
	r.cluster, err = dynamic.NewForConfig(config)
	check(t, err)
	check(t, writeKubeconfig(r.path("kubeconfig"), r.namespace))
	if r.rich {
		enrich(random, &r.versions)
		t.Cleanup(r.removeOwn)
	}
	for i, v := range r.versions {
		v.texts = r.named(v.texts)
		r.versions[i] = v
		r.write(fmt.Sprintf("v%d/objects.yaml", i), v.manifests)
		if !r.app {
			r.write(fmt.Sprintf("v%d/resourcegroup.yaml", i), resourceGroup)
		}
	}
	r.createForeign()
	r.foreign = r.contents()
	return r
}

// removeOwn deletes the namespace and the definition of a rich set, if they are left: thousands of
// them make the deletion of each namespace slow.
func (r *round) removeOwn() {
	for name, kind := range map[string]string{
		ownNamespace: "Namespace", "things." + ownGroup: "CustomResourceDefinition",
	} {
		resource := r.cluster.Resource(watchedOfRich[kind])
		err := resource.Delete(context.Background(), r.expand(name), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			r.t.Errorf("delete %s %s: %v", kind, name, err)
		}
	}
}

// named returns texts with the namespace in place of ${NS} in the keys.
func (r *round) named(texts map[string]string) map[string]string {
	named := map[string]string{}
	for key, text := range texts {
		named[r.expand(key)] = text
	}
	return named
}

// resourceGroup is the record of a package, as its folder names it.
const resourceGroup = `apiVersion: kpt.dev/v1alpha1
kind: ResourceGroup
metadata:
  name: ` + set + `
  namespace: ${NS}
  labels: {cli-utils.sigs.k8s.io/inventory-id: ` + set + `}
`

func (r *round) path(name string) string { return filepath.Join(r.dir, name) }

// write writes a file below the working directory with the namespace in place of ${NS}.
func (r *round) write(name, text string) {
	r.t.Helper()
	check(r.t, os.MkdirAll(filepath.Dir(r.path(name)), 0o700))
	check(r.t, os.WriteFile(r.path(name), []byte(r.expand(text)), 0o600))
}

// expand returns a text with the namespace of the round in place of ${NS}.
func (r *round) expand(text string) string {
	return strings.ReplaceAll(text, "${NS}", r.namespace)
}

// createForeign creates objects without an owner and of other owners.
func (r *round) createForeign() {
	r.t.Helper()
	for _, kind := range []string{"ConfigMap", "Secret"} {
		for _, name := range []string{"foreign", "foreign-of-others"} {
			obj := generated(kind, name, name)
			if name != "foreign" {
				annotate(obj, owningInventory, "others")
				obj.SetLabels(map[string]string{appLabel: "others"})
			}
			resources := r.cluster.Resource(watched[kind]).Namespace(r.namespace)
			_, err := resources.Create(r.t.Context(), obj, metav1.CreateOptions{})
			check(r.t, err)
		}
	}
}

// run runs the round.
func (r *round) run() {
	if before := r.random.IntN(3) - 1; before != removed {
		r.must(before)
	}
	versions := []int{0, 1}
	if r.removes {
		versions[0] = removed
	}
	r.random.Shuffle(len(versions), func(i, j int) {
		versions[i], versions[j] = versions[j], versions[i]
	})
	ended := r.race(versions)
	r.checkRecord()
	if r.locked {
		for _, e := range ended {
			if e.code != 0 {
				r.t.Errorf("with the lock, %s ends with exit code %d", e, e.code)
			}
			r.checkWaited(e)
		}
		last := slices.MaxFunc(ended, func(a, b *execution) int { return a.end.Compare(b.end) })
		r.checkVersion(last.version)
	}
	again := r.random.IntN(2)
	r.must(again)
	r.checkRecord()
	r.checkVersion(again)
	r.must(removed)
	r.checkVersion(removed)
}

// execution is a run of a command.
type execution struct {
	args           []string
	version, pid   int
	gate           *gate
	stdout, stderr bytes.Buffer
	done           chan struct{} // closed when the rest is known
	code           int
	end            time.Time
}

func (e *execution) String() string { return strings.Join(e.args, " ") }

// start starts the command that makes the cluster match a version.
func (r *round) start(ctx context.Context, version int, kubeconfig string) *execution {
	r.t.Helper()
	folder := fmt.Sprintf("v%d", max(version, 0))
	args := []string{"muster", "apply", folder}
	switch {
	case r.app && version == removed:
		args = []string{"muster", "delete", "-a", set, "--yes", "--ignore-not-found"}
	case r.app:
		args = []string{"muster", "apply", "--app", set, "-f", folder, "--yes"}
	case version == removed:
		args = []string{"muster", "destroy", folder, "--yes"}
	}
	if !r.locked {
		args = append(args, "--lock=false")
	}
	if r.serverSide && version != removed {
		args = append(args, "--server-side")
	}
	if r.rich {
		args = append(args, "--allow-delete=*")
	}
	e := r.execute(ctx, args, kubeconfig)
	e.version = version
	return e
}

// execute starts a command.
func (r *round) execute(ctx context.Context, args []string, kubeconfig string) *execution {
	r.t.Helper()
	e := &execution{args: args, done: make(chan struct{})}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.dir, &e.stdout, &e.stderr
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+r.dir)
	check(r.t, cmd.Start())
	e.pid = cmd.Process.Pid
	go func() { // ends with the command
		defer close(e.done)
		_ = cmd.Wait() // the exit code says it
		e.end, e.code = time.Now(), cmd.ProcessState.ExitCode()
	}()
	return e
}

// finish waits for the end of a command and writes its output to the log of the test.
func (r *round) finish(e *execution) {
	r.t.Helper()
	<-e.done
	r.t.Logf("%s ended with exit code %d\n%s[stderr]\n%s", e, e.code, &e.stdout, &e.stderr)
	if e.code < 0 {
		r.t.Errorf("%s does not end", e)
	}
}

// must makes the cluster match a version while nothing else runs.
func (r *round) must(version int) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), hangTimeout)
	defer cancel()
	e := r.start(ctx, version, r.path("kubeconfig"))
	if r.finish(e); e.code != 0 {
		r.t.Errorf("%s alone ends with exit code %d", e, e.code)
	}
}

// race starts a command for the first version and, after some of its requests, one for the second.
// Without the lock the other requests of the first may have to wait until the second has ended.
func (r *round) race(versions []int) []*execution {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), hangTimeout)
	defer cancel()
	count, holds := 1+r.random.IntN(40), r.random.IntN(2) == 0 && !r.locked
	r.t.Logf("the second starts after %d requests of the first, which stops then: %t", count, holds)
	first := r.gated(ctx, versions[0], count, ".")
	select {
	case <-first.gate.passed:
	case <-first.done:
	}
	second := r.gated(ctx, versions[1], 0, "^$")
	if !holds {
		close(first.gate.open)
	}
	r.finish(second)
	if holds {
		close(first.gate.open)
	}
	r.finish(first)
	return []*execution{first, second}
}

// gated starts the command for a version behind a gate.
func (r *round) gated(ctx context.Context, version, count int, pattern string) *execution {
	r.t.Helper()
	path := r.path(fmt.Sprintf("kubeconfig-%d", version))
	g, err := startGate(ctx, path, r.namespace, count, pattern)
	check(r.t, err)
	e := r.start(ctx, version, path)
	e.gate = g
	return e
}
