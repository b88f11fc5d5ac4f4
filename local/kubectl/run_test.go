package kubectl

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authorization "k8s.io/api/authorization/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/kubectl/pkg/cmd/util"

	"github.com/muster-deploy/muster/local/kubectl/call/protocol"
)

// A caller calls kubectl in a folder with a kubeconfig.
type caller struct {
	t               *testing.T
	dir, kubeconfig string
}

// newCaller returns a caller whose kubeconfig names a server.
func newCaller(t *testing.T, server string) caller {
	t.Helper()
	dir := t.TempDir()
	c := caller{t, dir, filepath.Join(dir, "kubeconfig")}
	config := api.NewConfig()
	config.Clusters["one"] = &api.Cluster{Server: server}
	config.Contexts["one"] = &api.Context{Cluster: "one"}
	config.CurrentContext = "one"
	c.check(clientcmd.WriteToFile(*config, c.kubeconfig))
	util.BehaviorOnFatal(func(message string, code int) { panic(ended{message, code}) })
	return c
}

func (c caller) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// call runs kubectl and returns its exit code and what it prints.
func (c caller) call(input string, args ...string) (int, string) {
	c.t.Helper()
	in, write, err := os.Pipe()
	c.check(err)
	defer in.Close()
	_, err = io.WriteString(write, input)
	c.check(err)
	c.check(write.Close())
	var out strings.Builder
	code := run(protocol.Call{Args: args, Dir: c.dir, Home: c.dir, Kubeconfig: c.kubeconfig},
		genericiooptions.IOStreams{In: in, Out: &out, ErrOut: &out})
	return code, out.String()
}

func TestCanI(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authorization.SelfSubjectAccessReview
		text, err := io.ReadAll(r.Body)
		if err == nil {
			_, _, err = scheme.Codecs.UniversalDeserializer().Decode(text, nil, &review)
		}
		if err != nil {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		asked := review.Spec.NonResourceAttributes
		review.Status.Allowed = asked != nil && asked.Path == "/healthz"
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	defer server.Close()
	c := newCaller(t, server.URL)
	for args, want := range map[string]struct {
		code int
		out  string
	}{
		"auth can-i get /healthz":    {0, "yes\n"},
		"auth can-i get /metrics":    {1, "no\n"},
		"auth can-i get /metrics -q": {1, ""},
	} {
		if code, out := c.call("", strings.Fields(args)...); code != want.code || out != want.out {
			t.Errorf("%s ends with %d and prints %q, want %v", args, code, out, want)
		}
	}
	if code, out := c.call("", "auth", "can-i"); code != 1 || !strings.Contains(out, "two arguments") {
		t.Errorf("can-i without arguments ends with %d and prints %q", code, out)
	}
}

// TestConfig checks that config uses the kubeconfig of the caller.
func TestConfig(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "other"))
	c := newCaller(t, "https://one.example")
	text, err := os.ReadFile(c.kubeconfig)
	c.check(err)
	c.check(os.WriteFile(filepath.Join(c.dir, "copy"), text, 0o600))
	for _, step := range []struct{ args, want string }{
		{"config set-context --current --namespace=web", "Context \"one\" modified.\n"},
		{"config view -o jsonpath={.contexts[0].context.namespace}", "web"},
		{
			"config set-cluster one --server=https://two.example --kubeconfig copy",
			"Cluster \"one\" set.\n",
		},
		{"config view -o jsonpath={.clusters[0].cluster.server}", "https://one.example"},
		{
			"--kubeconfig copy config view -o jsonpath={.clusters[0].cluster.server}",
			"https://two.example",
		},
	} {
		if code, out := c.call("", strings.Fields(step.args)...); code != 0 || out != step.want {
			t.Errorf("%s ends with %d and prints %q, want %q", step.args, code, out, step.want)
		}
	}
}

func TestStandardInput(t *testing.T) {
	c := newCaller(t, "https://one.example")
	code, out := c.call("{apiVersion: v1, kind: Pod, metadata: {name: web}}", "label", "--local", "-f",
		"-", "app=web", "-o", "jsonpath={.metadata.labels.app}")
	if code != 0 || out != "web" {
		t.Errorf("kubectl ends with %d and prints %q", code, out)
	}
}
