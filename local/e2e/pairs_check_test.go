package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The marks of owners: of packages an annotation, of apps a label.
const (
	owningInventory = "config.k8s.io/owning-inventory"
	appLabel        = "kapp.k14s.io/app"
)

// watched are the kinds of objects that a round compares.
var watched = map[string]schema.GroupVersionResource{
	"ConfigMap":     {Version: "v1", Resource: "configmaps"},
	"Secret":        {Version: "v1", Resource: "secrets"},
	"Deployment":    {Group: "apps", Version: "v1", Resource: "deployments"},
	"ResourceGroup": {Group: "kpt.dev", Version: "v1alpha1", Resource: "resourcegroups"},
	"Lease":         {Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
}

// watchedOfRich are the kinds that only rich sets have. Things have a group of their own.
var watchedOfRich = map[string]schema.GroupVersionResource{
	"Namespace": {Version: "v1", Resource: "namespaces"},
	"CustomResourceDefinition": {
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	},
	"Thing": {Version: "v1", Resource: "things"},
}

// contents is what a namespace has of the watched kinds, by key.
type contents map[string]*unstructured.Unstructured

// contents returns what the namespace of the round has, without the certificates that a controller
// puts into every namespace. Of a rich set it has the namespace, the definition, and what is in
// them.
func (r *round) contents() contents {
	r.t.Helper()
	found := contents{}
	for _, resource := range watched {
		r.list(found, resource, r.namespace)
	}
	if !r.rich {
		return found
	}
	r.list(found, watched["ConfigMap"], r.expand(ownNamespace))
	things := watchedOfRich["Thing"]
	things.Group = r.expand(ownGroup)
	r.list(found, things, r.namespace)
	r.get(found, watchedOfRich["Namespace"], ownNamespace)
	r.get(found, watchedOfRich["CustomResourceDefinition"], "things."+ownGroup)
	return found
}

// list adds the objects of a resource in a namespace.
func (r *round) list(found contents, resource schema.GroupVersionResource, namespace string) {
	r.t.Helper()
	list, err := r.cluster.Resource(resource).Namespace(namespace).List(r.t.Context(),
		metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return // the resource is not defined
	}
	check(r.t, err)
	for _, obj := range list.Items {
		if obj.GetName() != "kube-root-ca.crt" {
			found[key(&obj)] = &obj
		}
	}
}

// get adds a cluster-scoped object, if it exists. ${NS} in its name is the namespace of the round.
func (r *round) get(found contents, resource schema.GroupVersionResource, name string) {
	r.t.Helper()
	obj, err := r.cluster.Resource(resource).Get(r.t.Context(), r.expand(name), metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		check(r.t, err)
		found[key(obj)] = obj
	}
}

// versionOf is the suffix in the names of versions.
var versionOf = regexp.MustCompile(`-ver-([0-9]+)$`)

// newest returns the objects without those of which there is a newer version, under keys without
// versions.
func (c contents) newest() contents {
	newest, numbers := contents{}, map[string]int{}
	for key, obj := range c {
		number := 0
		if match := versionOf.FindStringSubmatch(key); match != nil {
			number, _ = strconv.Atoi(match[1]) // digits
		}
		if key = unversioned(key); number >= numbers[key] {
			newest[key], numbers[key] = obj, number
		}
	}
	return newest
}

// unversioned returns a key without the version.
func unversioned(key string) string { return versionOf.ReplaceAllString(key, "") }

// owned returns the objects of the set, by their marks.
func (r *round) owned(all contents) contents {
	owned := contents{}
	for key, obj := range all {
		mark := obj.GetAnnotations()[owningInventory]
		if r.app {
			mark = obj.GetLabels()[appLabel]
		}
		if mark != "" && mark != "others" {
			owned[key] = obj
		}
	}
	return owned
}

// checkRecord checks that the record has every object of the set. The server may still do what a
// command that was killed has sent last, and a controller works meanwhile, so that only objects
// count that exist before the record is read and after that, without having been deleted in
// between.
func (r *round) checkRecord() {
	r.t.Helper()
	all := r.contents()
	recorded, later := r.recorded(r.contents()), r.owned(r.contents())
	for key, obj := range r.owned(all) {
		stays := later[key] != nil && later[key].GetUID() == obj.GetUID()
		if stays && !slices.Contains(recorded, key) {
			r.t.Errorf("%s belongs to the set and is not in the record", key)
		}
	}
	r.checkForeign(all)
}

// checkForeign checks that nobody has changed the objects that were there before the round.
func (r *round) checkForeign(all contents) {
	r.t.Helper()
	for key, obj := range r.foreign {
		if !reflect.DeepEqual(all[key], obj) {
			r.t.Errorf("%s was changed from\n%v to\n%v", key, obj, all[key])
		}
	}
}

// checkVersion checks that the cluster and the record have exactly the objects of a version, and
// that nothing but the foreign objects is left after the removal of the set.
func (r *round) checkVersion(version int) {
	r.t.Helper()
	contents, want := r.contents(), map[string]string{}
	all := contents.newest()
	if version == removed {
		for key := range all {
			if r.foreign[key] == nil {
				r.t.Errorf("%s is left after the removal", key)
			}
		}
	} else {
		want = r.versions[version].texts
	}
	recorded, owned := r.recorded(contents), r.owned(all)
	for i, key := range recorded {
		recorded[i] = unversioned(key)
	}
	for key, text := range want {
		if obj := all[key]; obj == nil || owned[key] == nil || textOf(obj) != text {
			r.t.Errorf("%s is missing or not as in version %d: %v", key, version, obj)
		}
		if !slices.Contains(recorded, key) {
			r.t.Errorf("%s is not in the record", key)
		}
	}
	for _, key := range append(slices.Collect(maps.Keys(owned)), recorded...) {
		if _, wanted := want[key]; !wanted {
			r.t.Errorf("%s is not in version %d, but in the cluster or the record", key, version)
		}
	}
	r.checkForeign(all)
	if version != removed {
		r.checkHistory()
	}
}

// checkHistory checks that all revisions can be read.
func (r *round) checkHistory() {
	r.t.Helper()
	revisions := r.revisions()
	if len(revisions) > 0 {
		r.inspect("history show", strconv.Itoa(revisions[0].Number))
	} else if r.managed {
		r.t.Error("the Set is ready, and has no history")
	} // else nothing was ever changed, or it was killed before the revision was written
}

// revision is a revision as the history prints it.
type revision struct {
	Number, Restores int
	Outcome, Error   string
}

// revisions returns the revisions of the set, the newest first. All of them can be read.
func (r *round) revisions() []revision {
	r.t.Helper()
	e := r.inspect("history", "-o", "json")
	var list struct{ Items []revision }
	check(r.t, json.Unmarshal(e.stdout.Bytes(), &list))
	for _, found := range list.Items {
		if found.Error != "" {
			r.t.Errorf("revision %d: %s", found.Number, found.Error)
		}
	}
	return list.Items
}

// inspect runs a command that reads the history of the set. The log gets its output only if it
// fails, since there are many.
func (r *round) inspect(command string, flags ...string) *execution {
	r.t.Helper()
	source := []string{"v0"}
	switch {
	case r.managed:
		source = []string{"set/" + set}
	case r.app:
		source = []string{"-a", set}
	}
	args := slices.Concat([]string{"muster"}, strings.Fields(command), source, flags)
	e := r.execute(r.t.Context(), args, r.path("kubeconfig"))
	if <-e.done; e.code != 0 {
		r.t.Fatalf("%s ends with exit code %d\n%s[stderr]\n%s", e, e.code, &e.stdout, &e.stderr)
	}
	return e
}

// recorded returns the keys of the objects in the record: the members of a package, and what
// inspect finds of an app. There are none without a record.
func (r *round) recorded(all contents) (keys []string) {
	r.t.Helper()
	if group := all["ResourceGroup/"+set]; group != nil {
		keys = membersOf(r.t, group)
	}
	if all["ConfigMap/"+set] != nil {
		found, err := inspected(r.t, r.dir, r.path("kubeconfig"), set)
		if err != nil && r.contents()["ConfigMap/"+set] != nil { // else it was deleted meanwhile
			r.t.Fatal(err)
		}
		keys = append(keys, found...)
	}
	return keys
}

// membersOf returns the keys of the objects in the record of a package.
func membersOf(t *testing.T, group *unstructured.Unstructured) (keys []string) {
	t.Helper()
	members, _, err := unstructured.NestedSlice(group.Object, "spec", "resources")
	check(t, err)
	for _, member := range members {
		fields := member.(map[string]any)
		keys = append(keys, fmt.Sprintf("%s/%s", fields["kind"], fields["name"]))
	}
	return keys
}

// inspected returns the keys of the objects that inspect finds of an app, without what controllers
// have created. It is an error if inspect fails.
func inspected(t *testing.T, dir, kubeconfig, app string) (keys []string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "muster", "kapp", "inspect", "-a", app, "--json")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, &stderr)
	}
	var tables struct {
		Tables []struct{ Rows []struct{ Kind, Name string } }
	}
	check(t, json.Unmarshal(out, &tables))
	for _, row := range tables.Tables[0].Rows {
		_, rich := watchedOfRich[row.Kind]
		if _, ok := watched[row.Kind]; ok || rich {
			keys = append(keys, row.Kind+"/"+row.Name)
		}
	}
	return keys, nil
}

// waiting is what a run prints while it waits for the lock.
var waiting = regexp.MustCompile(`(?m)^waiting for .+ \((apply|destroy|deploy|delete), since `)

// checkWaited checks that a run says for whom it waited exactly if it found a lock.
func (r *round) checkWaited(e *execution) {
	r.t.Helper()
	found, waited := e.gate.locked.Load(), waiting.Match(e.stderr.Bytes())
	if found != waited {
		r.t.Errorf("%s found a lock: %t, says for whom it waits: %t", e, found, waited)
	}
}
