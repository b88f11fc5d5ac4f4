package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

const kubeconfig = `apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: c, cluster: {server: "https://c.example"}}
users:
- {name: u, user: {token: t}}
contexts:
- {name: one, context: {cluster: c, user: u}}
- {name: two, context: {cluster: c, user: u, namespace: demo}}
- {name: bad, context: {cluster: c, user: u, namespace: Not_Valid}}
`

// newTestKube returns a Kube with parsed flags. KUBECONFIG names a file with the test's contexts.
func newTestKube(t *testing.T, args ...string) (*Kube, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir)
	t.Setenv("KUBECONFIG", file)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	env, _, errs := testEnv("muster")
	k := newKube(env)
	flags := pflag.NewFlagSet("muster", pflag.ContinueOnError)
	k.addFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return k, errs
}

func TestNamespace(t *testing.T) {
	for _, tc := range []struct {
		args, want, err string
		explicit        bool
	}{
		{args: "", want: "default"},
		{args: "--context two", want: "demo"},
		{args: "--context two -n other", want: "other", explicit: true},
		{args: "-n UPPER", err: `--namespace "UPPER": `},
		{args: "--context bad", err: `the context of the kubeconfig has the namespace "Not_Valid"`},
		{args: "--context none", err: `read the kubeconfig: context "none" does not exist (looked in `},
		{args: "--kubeconfig /missing/config", err: "read the kubeconfig: "},
	} {
		k, _ := newTestKube(t, strings.Fields(tc.args)...)
		got, explicit, err := k.Namespace()
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: error %v, want %q", tc.args, err, tc.err)
		}
		if got != tc.want || explicit != tc.explicit {
			t.Errorf("%s: namespace %q, explicit %t", tc.args, got, explicit)
		}
	}
}

func TestGivenFlags(t *testing.T) {
	for args, want := range map[string]string{
		"":                 "",
		"--user u --as me": "--user u --as me",
		"--token secret":   "",
		"--as me --as-group a --as-group b -s https://x": "--server https://x --as me --as-group a " +
			"--as-group b",
		"--context two --namespace x": "-n x --context two",
		"--kubeconfig file":           "--kubeconfig file",
	} {
		k, _ := newTestKube(t, strings.Fields(args)...)
		if got := strings.Join(k.GivenFlags(), " "); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

// TestAdvisedCommands checks that commands which users are advised to run have the flags that
// choose the cluster, once, and are quoted for a shell.
func TestAdvisedCommands(t *testing.T) {
	k, _ := newTestKube(t, "--context", "two three", "-n", "shop", "--as", "me")
	for _, tc := range []struct{ got, want string }{
		{k.env.Command("history", "-a", "web"),
			"muster history -a web -n shop --context 'two three' --as me"},
		{k.env.Command("history", "-n", "other"),
			"muster history -n other --context 'two three' --as me"},
		{k.env.Kubectl("create", "namespace", "x"),
			"kubectl create namespace x --context 'two three' --as me"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s, want %s", tc.got, tc.want)
		}
	}
}

func TestClient(t *testing.T) {
	for _, tc := range []struct{ args, host, err string }{
		{args: "", host: "https://c.example"},
		{args: "--server https://other.example", host: "https://other.example"},
		{args: "-v 6 --as me --as-user-extra scopes=a --as-user-extra scopes=b",
			host: "https://c.example"},
		{args: "--context none", err: `context "none" does not exist`},
		{args: "--request-timeout never", err: "read the kubeconfig"},
	} {
		k, _ := newTestKube(t, strings.Fields(tc.args)...)
		c, err := k.Client()
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: error %v, want %q", tc.args, err, tc.err)
		}
		if err == nil && c.Host() != tc.host {
			t.Errorf("%s: host %s, want %s", tc.args, c.Host(), tc.host)
		}
	}
}

func TestImpersonation(t *testing.T) {
	args := "--as me --as-group g --as-uid 7 --as-user-extra scopes=a --as-user-extra scopes=b " +
		"--as-user-extra ignored"
	k, _ := newTestKube(t, strings.Fields(args)...)
	config, err := k.config().ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	got := config.Impersonate
	if got.UserName != "me" || got.UID != "7" || len(got.Groups) != 1 || len(got.Extra) != 1 ||
		len(got.Extra["scopes"]) != 2 {
		t.Errorf("impersonates %+v", got)
	}
}

func TestNoClusterIsNamed(t *testing.T) {
	k, _ := newTestKube(t)
	t.Setenv("KUBECONFIG", "")
	_, err := k.Client()
	if err == nil || !strings.Contains(err.Error(), "it names no cluster (looked in ") {
		t.Errorf("error %v", err)
	}
}

func TestSetConfig(t *testing.T) {
	k, _ := newTestKube(t)
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: "/missing/config"}
	k.SetConfig(clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil), "Building config")
	if _, err := k.Client(); err == nil || !strings.HasPrefix(err.Error(), "Building config: ") {
		t.Errorf("error %v", err)
	}
	err := k.unreadable(clientcmd.ErrEmptyConfig)
	if !errors.Is(err, clientcmd.ErrEmptyConfig) || !strings.Contains(err.Error(), "hint: looked in") {
		t.Errorf("error %v", err)
	}
}

func TestWarningsAreShownOnce(t *testing.T) {
	k, errs := newTestKube(t)
	web := object.Ref{Kind: "Service", Namespace: "demo", Name: "web"}
	db := object.Ref{Kind: "Service", Namespace: "demo", Name: "db"}
	k.SetSources(map[object.Ref]string{web: "web.yaml"})
	warn := k.warn()
	for range 2 {
		warn(object.Ref{}, "old version")
		warn(web, "unused port")
		warn(db, "unused port")
	}
	want := "Warning: old version\n" +
		"Warning: demo/service/web (web.yaml): unused port\n" +
		"Warning: demo/service/db: unused port\n"
	if errs.String() != want {
		t.Errorf("printed\n%swant\n%s", errs, want)
	}
}

func TestTrace(t *testing.T) {
	var out bytes.Buffer
	trace(&out)(cluster.Request{Method: "GET", Path: "/api", Took: time.Second})
	if !strings.Contains(out.String(), "GET") || !strings.Contains(out.String(), "/api") {
		t.Errorf("printed %q", out.String())
	}
}

func TestCacheDir(t *testing.T) {
	for _, tc := range []struct{ flag, kubecachedir, xdg, home, want string }{
		{"/flag", "/env", "/xdg", "/home/u", "/flag/muster"},
		{"", "/env", "/xdg", "/home/u", "/env/muster"},
		{"", "", "/xdg", "/home/u", "/xdg/muster"},
		{"", "", "", "/home/u", "/home/u/.cache/muster"},
		{"", "", "", "", ""},
	} {
		t.Setenv("KUBECACHEDIR", tc.kubecachedir)
		t.Setenv("XDG_CACHE_HOME", tc.xdg)
		t.Setenv("HOME", tc.home)
		f := clusterFlags{cache: tc.flag}
		if got := f.cacheDir(); got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}
