package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/cli"
)

// asking are the commands that ask the server of the cluster, with arguments by which they do.
var asking = map[string]string{
	"muster adopt":                       "--from kapp web fresh",
	"muster alpha live apply":            "shop",
	"muster alpha live plan":             "shop",
	"muster apply":                       "shop --yes",
	"muster approve":                     "web",
	"muster check-access":                "shop",
	"muster convert":                     "shop --to app web --yes",
	"muster destroy":                     "shop --yes",
	"muster diff":                        "shop",
	"muster drift":                       "shop",
	"muster groups apply":                "groups --yes",
	"muster groups destroy":              "--group g --yes",
	"muster history":                     "shop",
	"muster history pin":                 "shop 1",
	"muster history show":                "shop 1",
	"muster history unpin":               "shop 1",
	"muster inspect":                     "shop",
	"muster install-resource-group":      "",
	"muster label":                       "-a web",
	"muster list":                        "",
	"muster live apply":                  "shop",
	"muster live destroy":                "shop",
	"muster live install-resource-group": "",
	"muster live migrate":                "bare",
	"muster live plan":                   "shop",
	"muster live status":                 "shop",
	"muster lock":                        "shop",
	"muster locks":                       "",
	"muster logs":                        "shop",
	"muster migrate":                     "bare",
	"muster plan":                        "shop",
	"muster reconcile":                   "web",
	"muster rename":                      "-a web --new-name shop --yes",
	"muster resume":                      "web",
	"muster rollback":                    "shop --yes",
	"muster sets":                        "",
	"muster status":                      "shop",
	"muster suspend":                     "web",
	"muster tree":                        "shop",
	"muster unlock":                      "shop",
	"muster why":                         "shop",

	"kapp app-change garbage-collect": "-a web --yes",
	"kapp app-change list":            "-a web",
	"kapp app-group delete":           "-g g --yes",
	"kapp app-group deploy":           "-g g --directory groups --yes",
	"kapp config-map list":            "-a web",
	"kapp delete":                     "-a web --yes",
	"kapp deploy":                     "-a web -f bare --yes",
	"kapp inspect":                    "-a web",
	"kapp label":                      "-a web",
	"kapp list":                       "",
	"kapp logs":                       "-a web",
	"kapp rename":                     "-a web --new-name shop --yes",
	"kapp service-account list":       "-a web",
	"kapp tools list-labels":          "",
}

// quiet are the commands that ask no server of a cluster.
var quiet = []string{
	"muster artifacts", "muster completion", "muster graph", "muster init",
	"muster kapp",
	"muster live init", "muster options", "muster pull", "muster push", "muster report",
	"muster version",
	"kapp", "kapp app-change", "kapp app-group", "kapp completion", "kapp config-map",
	"kapp deploy-config", "kapp service-account", "kapp tools", "kapp tools diff",
	"kapp tools inspect", "kapp version",
}

// reason matches what is wrong with the servers of the test.
var reason = regexp.MustCompile(
	`no answer within|TLS handshake timeout|the server asks to wait 24h0m0s`,
)

// Each command that asks a server ends by itself, with the reason, if the server accepts the
// connection and never answers, or asks to wait for a day. A new command has to be in a list.
func TestCommandsEnd(t *testing.T) {
	var all []string
	for _, root := range []*cobra.Command{
		Commands(documented("muster")), Kapp(documented("kapp")),
	} {
		all = append(all, runnable(root)...)
	}
	listed := slices.Concat(slices.Collect(maps.Keys(asking)), quiet)
	for _, name := range all {
		if !slices.Contains(listed, name) {
			t.Errorf("%s is in no list of this test: does it ask a server?", name)
		}
	}
	for _, name := range listed {
		if !slices.Contains(all, name) {
			t.Errorf("there is no command %s", name)
		}
	}
	dir := t.TempDir()
	extract(t, dir)
	t.Chdir(dir)
	if err := os.CopyFS("groups/shop", os.DirFS("shop")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECACHEDIR", t.TempDir())
	for server, address := range servers(t) {
		for _, name := range slices.Sorted(maps.Keys(asking)) {
			t.Run(server+"/"+name, func(t *testing.T) {
				args := append(strings.Fields(name), strings.Fields(asking[name])...)
				args = append(args, "--kubeconfig="+kubeconfig(t, address))
				code, text := outcome(args)
				if code == 0 || !reason.MatchString(text) {
					t.Errorf("%s\nexit code %d:\n%s", strings.Join(args, " "), code, text)
				}
			})
		}
	}
}

// runnable returns the paths of all commands that can be run.
func runnable(cmd *cobra.Command) (paths []string) {
	for _, child := range cmd.Commands() {
		paths = append(paths, runnable(child)...)
	}
	if cmd.Runnable() {
		paths = append(paths, cmd.CommandPath())
	}
	return paths
}

// outcome runs a command and returns its exit code and all that it prints.
func outcome(args []string) (code int, text string) {
	var out bytes.Buffer
	code = Main(&cli.Env{
		Args: args, In: strings.NewReader(""), Out: &out, Err: &out,
		Getenv: func(string) string { return "" }, Now: time.Now,
		AnswerTime: limit.After(50 * time.Millisecond),
	})
	return code, out.String()
}

// kubeconfig writes a configuration for the server at an address.
func kubeconfig(t *testing.T, address string) string {
	t.Helper()
	file := t.TempDir() + "/config"
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: c, context: {cluster: c, user: u, namespace: shop}}]
`, address)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// servers starts the servers of the test and returns their addresses.
func servers(t *testing.T) map[string]string {
	t.Helper()
	deaf, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts, and nobody reads
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = deaf.Close() })
	over := make(chan struct{})
	silent := func(http.ResponseWriter, *http.Request) { <-over }
	busy := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "86400")
		http.Error(w, "maintenance", http.StatusServiceUnavailable)
	}
	start := func(answer http.HandlerFunc) string {
		s := httptest.NewServer(answer)
		t.Cleanup(s.Close)
		return s.URL
	}
	found := map[string]string{
		"silent":                  "http://" + deaf.Addr().String(),
		"silent in the handshake": "https://" + deaf.Addr().String(),
		"busy":                    start(busy),
		"silent after discovery":  start(afterDiscovery(silent)),
		"busy after discovery":    start(afterDiscovery(busy)),
	}
	t.Cleanup(func() { close(over) }) // before the servers are closed
	return found
}

// afterDiscovery answers discovery, and leaves the other requests to next.
func afterDiscovery(next http.HandlerFunc) http.HandlerFunc {
	offered := map[string]map[string]string{
		"": {"configmaps": "ConfigMap", "secrets": "Secret", "namespaces": "Namespace", "pods": "Pod",
			"serviceaccounts": "ServiceAccount", "nodes": "Node", "events": "Event"},
		"apps":                 {"deployments": "Deployment", "replicasets": "ReplicaSet"},
		"batch":                {"jobs": "Job"},
		"coordination.k8s.io":  {"leases": "Lease"},
		"kpt.dev":              {"resourcegroups": "ResourceGroup"},
		"muster.dev":           {"sets": "Set"},
		"apiextensions.k8s.io": {"customresourcedefinitions": "CustomResourceDefinition"},
	}
	cluster := []string{"namespaces", "nodes", "customresourcedefinitions"}
	version := map[string]string{"kpt.dev": "v1alpha1", "muster.dev": "v1alpha1"}
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api" && r.URL.Path != "/apis" {
			next(w, r)
			return
		}
		var items []any
		for group, kinds := range offered {
			if (group == "") != (r.URL.Path == "/api") {
				continue
			}
			var resources []any
			for plural, kind := range kinds {
				scope := "Namespaced"
				if slices.Contains(cluster, plural) {
					scope = "Cluster"
				}
				resources = append(resources, map[string]any{
					"resource": plural, "responseKind": map[string]any{"kind": kind}, "scope": scope,
					"verbs": []string{"get", "list", "watch", "create", "patch", "update", "delete"},
				})
			}
			served := version[group]
			if served == "" {
				served = "v1"
			}
			items = append(items, map[string]any{
				"metadata": map[string]any{"name": group},
				"versions": []any{map[string]any{
					"version": served, "freshness": "Current", "resources": resources,
				}},
			})
		}
		w.Header().Set("Content-Type",
			"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items,
		})
	}
}
