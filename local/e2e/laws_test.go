package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/muster-deploy/muster/local/laws"
)

// The environment variable for the number of objects of TestLaws.
const objectsEnv = "MUSTER_E2E_OBJECTS"

// The environment variable for the kinds of TestLaws, separated by spaces; empty for all.
const kindsEnv = "MUSTER_E2E_KINDS"

// perBatch is the number of objects of a set of TestLaws.
const perBatch = 25

// lawForm is one way to deploy the sets of TestLaws.
type lawForm struct {
	name       string
	app        bool
	serverSide bool
}

var lawForms = []lawForm{
	{name: "client-side"},
	{name: "server-side", serverSide: true},
	{name: "app", app: true},
	{name: "app-server-side", app: true, serverSide: true},
}

// lawFaults are the failures of laws that are known, with the reason. A pattern matches the text of
// the failure: the form, the object, the step, and what does not hold.
var lawFaults = []struct {
	pattern *regexp.Regexp
	why     string
}{
	{
		regexp.MustCompile(`(?s)^app: PersistentVolumeClaim/.*\sspec\.volumeMode: is Filesystem`),
		"a rule of apps keeps the mode of the volume that a claim has",
	},
}

// TestLaws checks laws that hold for all objects, with sets of objects that are generated from the
// OpenAPI documents of the server. A plan is empty and nothing drifts after a run, live objects
// have what the manifests say, plans show what runs change, nothing is left after a removal.
func TestLaws(t *testing.T) {
	t.Parallel()
	installResourceGroup(t)
	installFeature(t)
	objects, seed := seeded(t, objectsEnv, 150)
	kinds, err := laws.Kinds("")
	check(t, err)
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	check(t, err)
	found, err := discovery.NewDiscoveryClientForConfig(config)
	check(t, err)
	schemas, err := laws.Read(found.OpenAPIV3(), laws.Versions(kinds))
	check(t, err)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	check(t, err)
	for i := range (objects + perBatch - 1) / perBatch {
		form := lawForms[i%uint64(len(lawForms))]
		t.Run(fmt.Sprintf("%s/%d", form.name, i), func(t *testing.T) {
			inTurn(t)
			generator := &laws.Generator{Random: rand.New(rand.NewPCG(seed, i)), Schemas: schemas}
			b := &batch{
				t: t, lawForm: form, generator: generator, client: client, mapper: mapper,
				dir: t.TempDir(), namespace: fmt.Sprintf("laws-%d-%d", seed%100000, i),
			}
			b.run(int(i) * perBatch)
		})
	}
}

// installFeature creates the definition of the kind with every feature of schemas, and waits until
// it is served with its schema.
func installFeature(t *testing.T) {
	t.Helper()
	definition, err := laws.Feature()
	check(t, err)
	text, err := definition.MarshalJSON()
	check(t, err)
	file := filepath.Join(t.TempDir(), "feature.json")
	check(t, os.WriteFile(file, text, 0o600))
	for _, args := range [][]string{
		{"apply", "-f", file},
		{"wait", "--for=condition=Established", "-f", file, "--timeout=60s"},
		{"explain", "features.spec.members.zone", "--api-version=laws.example.com/v1"},
	} {
		runKubectl(t, args...)
	}
	t.Cleanup(func() { runKubectl(t, "delete", "--wait=false", "-f", file) })
}

// runKubectl runs kubectl as administrator until it succeeds.
func runKubectl(t *testing.T, args ...string) {
	t.Helper()
	args = append(args, "--kubeconfig", cluster.Kubeconfig())
	var out []byte
	var err error
	for range 50 {
		if out, err = exec.Command("kubectl", args...).CombinedOutput(); err == nil {
			return
		}
	}
	t.Fatalf("kubectl %v: %v\n%s", args, err, out)
}
