package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"

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

// contents is what a namespace has of the watched kinds, by key.
type contents map[string]*unstructured.Unstructured

// contents returns what the namespace of the round has, without the certificates that a controller
// puts into every namespace.
func (r *round) contents() contents {
	r.t.Helper()
	found := contents{}
	for _, resource := range watched {
		list, err := r.cluster.Resource(resource).Namespace(r.namespace).List(r.t.Context(),
			metav1.ListOptions{})
		check(r.t, err)
		for _, obj := range list.Items {
			if obj.GetName() != "kube-root-ca.crt" {
				found[key(&obj)] = &obj
			}
		}
	}
	return found
}

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

// checkRecord checks that the record has every object of the set.
func (r *round) checkRecord() {
	r.t.Helper()
	all := r.contents()
	recorded := r.recorded(all)
	for key := range r.owned(all) {
		if !slices.Contains(recorded, key) {
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
	all, want := r.contents(), map[string]string{}
	if version == removed {
		for key := range all {
			if r.foreign[key] == nil {
				r.t.Errorf("%s is left after the removal", key)
			}
		}
	} else {
		want = r.versions[version].texts
	}
	recorded, owned := r.recorded(all), r.owned(all)
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
}

// recorded returns the keys of the objects in the record: the members of a package, and what
// inspect finds of an app. There are none without a record.
func (r *round) recorded(all contents) (keys []string) {
	r.t.Helper()
	if group := all["ResourceGroup/"+set]; group != nil {
		members, _, err := unstructured.NestedSlice(group.Object, "spec", "resources")
		check(r.t, err)
		for _, member := range members {
			fields := member.(map[string]any)
			keys = append(keys, fmt.Sprintf("%s/%s", fields["kind"], fields["name"]))
		}
	}
	if all["ConfigMap/"+set] == nil {
		return keys
	}
	cmd := exec.CommandContext(r.t.Context(), "muster", "kapp", "inspect", "-a", set, "--json")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.path("kubeconfig"), "HOME="+r.dir)
	out, err := cmd.Output()
	check(r.t, err)
	var tables struct {
		Tables []struct{ Rows []struct{ Kind, Name string } }
	}
	check(r.t, json.Unmarshal(out, &tables))
	for _, row := range tables.Tables[0].Rows {
		if _, ok := watched[row.Kind]; ok { // not what controllers have created
			keys = append(keys, row.Kind+"/"+row.Name)
		}
	}
	return keys
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
