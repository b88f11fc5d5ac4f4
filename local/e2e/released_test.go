package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/muster-deploy/muster/local/webhook"
)

// repositoriesEnv is the environment variable for the address below which the repositories of
// TestReleased are: https://github.com, or a folder.
const repositoriesEnv = "MUSTER_E2E_REPOSITORIES"

// deviation is a failure of TestReleased that is known, with the reason.
type deviation struct {
	Pattern string `json:"pattern"`
	Why     string `json:"why"`

	found bool
}

// release is a released set in one form, in a namespace of its own.
type release struct {
	*released
	batch
	results []string // of the steps
	clean   bool     // nothing has failed in this step
}

// TestReleased deploys sets that other projects release, as packages in both write modes and as
// apps: new, upgraded from an earlier release, rolled back, and upgraded again. Each time a plan is
// empty and nothing drifts; a removal leaves nothing. One set at a time: they share the cluster.
func TestReleased(t *testing.T) {
	if os.Getenv(repositoriesEnv) == "" {
		t.Skipf("%s is not set; make test-long sets it", repositoriesEnv)
	}
	installResourceGroup(t)
	hooks, err := webhook.Open()
	check(t, err)
	t.Cleanup(func() { _ = hooks.Close() })
	check(t, hooks.Serve())
	var table strings.Builder
	for i, set := range releasedSets(t) {
		t.Run(set.Name, func(t *testing.T) {
			var manifests [2][]byte
			for v, tag := range set.Tags {
				manifests[v] = set.read(t, tag, t.TempDir(), hooks)
			}
			forms := 0
			for _, form := range lawForms {
				t.Run(form.name, func(t *testing.T) {
					forms++
					r := &release{released: set, batch: batch{
						t: t, lawForm: form, dir: t.TempDir(),
						namespace: fmt.Sprintf("released-%d-%s", i, form.name),
					}}
					defer func() { fmt.Fprintln(&table, set.Name, set.Tags, form.name, r.results) }()
					r.run(manifests)
				})
			}
			for _, d := range set.Deviations {
				if !d.found && forms == len(lawForms) {
					t.Errorf("a known deviation is gone: %s (%s)", d.Pattern, d.Why)
				}
			}
		})
	}
	t.Logf("results:\n%s", table.String())
}

// run deploys the set in its form.
func (r *release) run(manifests [2][]byte) {
	check(r.t, createNamespace(r.t.Cleanup, r.namespace))
	check(r.t, writeKubeconfig(filepath.Join(r.dir, "kubeconfig"), r.namespace))
	for v, text := range manifests {
		dir := fmt.Sprintf("%s/v%d", r.dir, v)
		check(r.t, os.MkdirAll(dir, 0o700))
		check(r.t, os.WriteFile(dir+"/objects.yaml", text, 0o600))
		if !r.app {
			group := strings.ReplaceAll(resourceGroup, "${NS}", r.namespace)
			check(r.t, os.WriteFile(dir+"/resourcegroup.yaml", []byte(group), 0o600))
		}
	}
	before := r.list()
	for _, step := range []struct {
		name, command string
		version       int
	}{
		{"new", "apply --yes", 0},
		{"upgrade", "apply --yes", 1},
		{"rollback", "rollback --yes", 0},
		{"second upgrade", "apply --yes", 1},
	} {
		r.clean = true
		done := r.change(step.name, step.command, step.version)
		if done {
			r.checkEmpty(step.name, step.version)
		}
		r.finish(step.name)
		if !done {
			break // the steps after it begin with what it has done
		}
	}
	r.clean = true
	r.destroyAll(before)
	r.finish("destroy")
}

// finish records the result of a step.
func (r *release) finish(step string) {
	result := "clean"
	if !r.clean {
		result = "DEVIATES"
	}
	r.results = append(r.results, step+": "+result)
}

// report reports what does not hold after a step.
func (r *release) report(step, format string, args ...any) {
	r.t.Helper()
	r.clean = false
	text := fmt.Sprintf("%s: %s: %s", r.lawForm.name, step, fmt.Sprintf(format, args...))
	for i := range r.Deviations {
		if d := &r.Deviations[i]; regexp.MustCompile(d.Pattern).MatchString(text) {
			d.found = true
			r.t.Logf("known: %s\n%s", d.Why, text)
			return
		}
	}
	r.t.Error(text)
}

// change runs a command that writes the set, and reports whether it succeeds.
func (r *release) change(step, command string, version int) (done bool) {
	r.t.Helper()
	source := r.source(version)
	if command != "apply --yes" && r.app {
		source = source[:2]
	}
	flags := []string{"--allow-delete=*", "--reconcile-timeout=4m"} // minReadySeconds
	if r.serverSide {
		flags = append(flags, "--server-side")
	}
	for _, f := range r.Flags {
		flags = append(flags, f.Flag)
	}
	begun := time.Now()
	out, errs, code := r.muster(command, source, flags...)
	r.t.Logf("%s: exit code %d after %s", step, code, time.Since(begun).Round(time.Second/10))
	if code != 0 {
		r.report(step, "%s ends with exit code %d\n%s%s", command, code, out, errs)
	}
	return code == 0
}

// checkEmpty checks that a plan is empty, and that nothing drifts.
func (r *release) checkEmpty(step string, version int) {
	r.t.Helper()
	flags := []string{"--exit-code", "--allow-delete=*"}
	if r.serverSide {
		flags = append(flags, "--server-side")
	}
	out, errs, code := r.muster("plan", r.source(version), flags...)
	if code != 0 {
		r.report(step, "plan ends with exit code %d\n%s%s", code, out, errs)
	}
	out, errs, code = r.muster("drift", r.source(version))
	if code != 0 {
		r.report(step, "drift ends with exit code %d\n%s%s", code, out, errs)
	}
}

// destroyAll destroys the set, and checks that the cluster is as it was before.
func (r *release) destroyAll(before []string) {
	r.t.Helper()
	source := r.source(1)
	if r.app {
		source = source[:2]
	}
	out, errs, code := r.muster("destroy --yes", source)
	if code != 0 {
		r.report("destroy", "destroy ends with exit code %d\n%s%s", code, out, errs)
	}
	pause := time.NewTicker(200 * time.Millisecond) // dependents are deleted in the background
	defer pause.Stop()
	for last := time.Now().Add(hangTimeout); ; <-pause.C {
		left := slices.DeleteFunc(r.list(), func(key string) bool {
			_, was := slices.BinarySearch(before, key)
			return was
		})
		if len(left) == 0 {
			return
		}
		if time.Now().After(last) {
			r.report("destroy", "it leaves:\n%s", strings.Join(left, "\n"))
			return
		}
	}
}

// transient are resources whose objects come and go by themselves.
var transient = []string{"events", "leases", "componentstatuses"}

// rootAuthority is the ConfigMap that a controller adds to each namespace soon after its creation.
const rootAuthority = "kube-root-ca.crt"

// list returns the sorted keys of all objects of the cluster that a set may create.
func (r *release) list() []string {
	r.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	check(r.t, err)
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	check(r.t, err)
	lists, err := found.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		r.t.Fatal(err)
	}
	client, err := metadata.NewForConfig(config)
	check(r.t, err)
	var keys []string
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		check(r.t, err)
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || slices.Contains(transient, resource.Name) {
				continue
			}
			objects, err := client.Resource(group.WithResource(resource.Name)).
				List(r.t.Context(), metav1.ListOptions{})
			if err != nil {
				continue // its definition is just deleted
			}
			for _, obj := range objects.Items {
				if obj.Name == rootAuthority {
					continue
				}
				keys = append(keys, fmt.Sprintf("%s.%s %s/%s",
					resource.Name, group.Group, obj.Namespace, obj.Name))
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
