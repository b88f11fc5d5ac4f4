package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/local/faults"
)

// permission is a verb on a resource; the name is empty for all objects.
type permission struct{ verb, group, resource, name string }

// String returns the permission as: get leases.coordination.k8s.io muster-controller.
func (p permission) String() string {
	resource, sub, found := strings.Cut(p.resource, "/")
	text := p.verb + " " + resource
	if p.group != "" {
		text += "." + p.group
	}
	if found {
		text += "/" + sub
	}
	return strings.TrimSpace(text + " " + p.name)
}

// covers reports whether a permission of a role allows a request.
func (p permission) covers(request permission) bool {
	if p.name == "" {
		request.name = ""
	}
	return p == request
}

// notAsked are the permissions that the script cannot provoke.
var notAsked = []permission{
	// A cache is filled by a list where the server does not stream lists as watches.
	{"list", "muster.dev", "sets", ""}, {"list", "", "configmaps", ""}, {"list", "", "secrets", ""},
	// An event is patched if it is emitted once more for the same version of a Set, whose status
	// could not be written.
	{"patch", "events.k8s.io", "events", ""},
}

// controllerRules returns the rules of the ClusterRole and of the Role in the manifests.
func controllerRules() (cluster, election []rbacv1.PolicyRule, err error) {
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "manifests", "rbac.yaml"))
	if err != nil {
		return nil, nil, err
	}
	for _, document := range strings.Split(string(text), "\n---\n") {
		var role struct {
			Kind  string
			Rules []rbacv1.PolicyRule
		}
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			return nil, nil, err
		}
		switch role.Kind {
		case "ClusterRole":
			cluster = role.Rules
		case "Role":
			election = role.Rules
		}
	}
	return cluster, election, nil
}

// grantElections lets the controller elect a leader in a namespace, as in its own one.
func grantElections(namespace string) error {
	_, rules, err := controllerRules()
	if err != nil {
		return err
	}
	role, err := json.Marshal(map[string]any{
		"apiVersion": rbacv1.SchemeGroupVersion.String(), "kind": "Role",
		"metadata": map[string]string{"name": "elections"}, "rules": rules,
	})
	if err != nil {
		return err
	}
	create := exec.Command("kubectl", "create", "-f", "-", "-n", namespace, "--kubeconfig",
		cluster.Kubeconfig())
	create.Stdin = bytes.NewReader(role)
	if out, err := create.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// askedPermissions are what the controllers of a script ask as themselves.
type askedPermissions struct {
	mutex sync.Mutex
	seen  map[permission]bool
}

// askedKey is the key of the requests among the values of a script.
type askedKey struct{}

// recordController makes the controllers of a script send their requests through a proxy, which
// records them.
func recordController(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 0, neg, "recordcontroller")
	path := ts.MkAbs(controllerConfig)
	config, err := clientcmd.BuildConfigFromFlags("", path)
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	ts.Defer(cancel)
	recorded := ts.Value(askedKey{}).(*askedPermissions)
	proxy, err := faults.Start(ctx, config, func(_ int, r *http.Request) faults.Kind {
		recorded.add(r)
		return faults.None
	})
	ts.Check(err)
	ts.Check(writeProxyConfig(path, ts.Getenv("NS"), proxy))
}

// add records a request. One that is sent as a service account needs only the impersonation.
func (r *askedPermissions) add(request *http.Request) {
	asked, ok := permissionOf(request)
	if as := request.Header.Get("Impersonate-User"); as != "" {
		asked = permission{"impersonate", "", "serviceaccounts", as[strings.LastIndex(as, ":")+1:]}
	} else if !ok {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.seen[asked] = true
}

// permissionOf returns the permission that a request needs; false if it is about no resource.
func permissionOf(r *http.Request) (permission, bool) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	p := permission{}
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		p.group, parts = parts[1], parts[3:]
	default:
		return p, false
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	p.resource = parts[0]
	if len(parts) > 2 {
		p.resource += "/" + parts[2]
	}
	if len(parts) > 1 {
		p.name = parts[1]
	}
	p.verb = map[string]string{
		http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch",
		http.MethodDelete: "delete", http.MethodGet: "get",
	}[r.Method]
	switch {
	case r.URL.Query().Has("watch"):
		p.verb = "watch"
	case p.verb == "get" && p.name == "":
		p.verb = "list"
	}
	return p, true
}

// checkPermissions checks that the recorded requests need what the manifests of the controller
// allow: all of it, soon, and nothing else.
func checkPermissions(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 0, neg, "permissions")
	cluster, election, err := controllerRules()
	ts.Check(err)
	var allowed []permission
	for _, rule := range slices.Concat(cluster, election) {
		allowed = append(allowed, permissionsOf(rule)...)
	}
	recorded := ts.Value(askedKey{}).(*askedPermissions)
	pause := time.NewTicker(100 * time.Millisecond)
	defer pause.Stop()
	for last := time.Now().Add(hangTimeout); ; <-pause.C {
		unused, refused := recorded.compare(allowed)
		if len(refused) > 0 {
			ts.Fatalf("the controller asks for what rbac.yaml does not allow: %v", refused)
		}
		if len(unused) == 0 {
			return
		}
		if time.Now().After(last) {
			ts.Fatalf("rbac.yaml allows what the controller does not ask for: %v", unused)
		}
	}
}

// permissionsOf returns the permissions of a rule, one by one.
func permissionsOf(rule rbacv1.PolicyRule) (all []permission) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				for _, name := range names {
					all = append(all, permission{verb, group, resource, name})
				}
			}
		}
	}
	return all
}

// compare returns the permissions that no request has needed, and the requests that need others.
func (r *askedPermissions) compare(allowed []permission) (unused, refused []permission) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	unused = slices.DeleteFunc(slices.Clone(allowed), func(p permission) bool {
		return slices.Contains(notAsked, p)
	})
	for asked := range r.seen {
		covers := func(p permission) bool { return p.covers(asked) }
		unused = slices.DeleteFunc(unused, covers)
		if !slices.ContainsFunc(allowed, covers) {
			refused = append(refused, asked)
		}
	}
	return unused, refused
}
