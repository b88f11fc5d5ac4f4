package enginetest_test

import (
	"context"
	"crypto/rand"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// server is the part of engine.Cluster, and of cluster.Client, that the contract is about.
type server interface {
	Read(context.Context, []cluster.Target) (*cluster.Snapshot, error)
	Write(context.Context, cluster.Write) (*unstructured.Unstructured, error)
	Delete(context.Context, cluster.Delete) (gone bool, err error)
	Watch(context.Context, []object.Ref, func(cluster.ObjectEvent))
	WatchQuery(context.Context, cluster.Query, func(cluster.ObjectEvent))
	List(
		ctx context.Context, gk schema.GroupKind, namespace string, with map[string]string,
	) ([]*unstructured.Unstructured, error)
	ListMetadata(
		ctx context.Context, gk schema.GroupKind, namespace string, with map[string]string,
	) ([]metav1.ObjectMeta, error)
}

// kubeconfigEnv is the environment variable for the kubeconfig of an API server that gets the calls
// instead of a Cluster.
const kubeconfigEnv = "MUSTER_TEST_KUBECONFIG"

var record = flag.Bool("record", false,
	"write the answers of the server of "+kubeconfigEnv+" into the archives")

// TestContract makes the calls of each archive and compares the answers with those that an API
// server gave. The section "calls" has a call on each line; see session.call. The other sections
// have the objects, and "answers" what the server answered, without the values that it generates.
func TestContract(t *testing.T) {
	archives, err := filepath.Glob("testdata/contract/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("find the archives: %v", err)
	}
	kubeconfig := os.Getenv(kubeconfigEnv)
	if *record && kubeconfig == "" {
		t.Fatalf("-record needs %s: the answers are those of a real server", kubeconfigEnv)
	}
	if kubeconfig != "" {
		t.Cleanup(func() { removeDefinitions(t, connect(t, kubeconfig)) })
	}
	for _, path := range archives {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			if kubeconfig == "" {
				synctest.Test(t, func(t *testing.T) {
					compare(t, path, &enginetest.Cluster{Collects: true}, "contract")
				})
				return
			}
			compare(t, path, connect(t, kubeconfig), "contract-"+strings.ToLower(rand.Text()[:8]))
		})
	}
}

// connect returns a client of an API server.
func connect(t *testing.T, kubeconfig string) *cluster.Client {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := cluster.New(config, cluster.Options{UserAgent: "muster-contract"})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// definitions are those of the kinds Widget, with a subresource for the status, and Gadget.
const definitions = "testdata/contract_definitions.yaml"

// removeDefinitions deletes the definitions of the custom kinds.
func removeDefinitions(t *testing.T, client *cluster.Client) {
	for _, name := range []string{"widgets", "gadgets"} {
		_, err := client.Delete(context.Background(), cluster.Delete{Ref: object.Ref{
			Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition",
			Name: name + ".contract.muster.dev",
		}})
		if err != nil {
			t.Error(err)
		}
	}
}

// compare makes the calls of an archive in a namespace and compares the answers with those of the
// archive, or records them.
func compare(t *testing.T, path string, server server, namespace string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, server: server, namespace: namespace, seen: map[object.Ref]*identities{}}
	s.objects = map[string][]*unstructured.Unstructured{}
	var calls, want string
	for _, file := range archive.Files {
		switch file.Name {
		case "calls":
			calls = string(file.Data)
		case "answers":
			want = string(file.Data)
		default:
			s.objects[file.Name] = s.parse(string(file.Data))
		}
	}
	s.setUp()
	var got strings.Builder
	for line := range strings.Lines(calls) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		default:
			got.WriteString("> " + line + "\n" + s.call(line))
		}
	}
	if *record {
		i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "answers" })
		if i < 0 {
			i = len(archive.Files)
			archive.Files = append(archive.Files, txtar.File{Name: "answers"})
		}
		archive.Files[i].Data = []byte(got.String())
		if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("%s: the answers differ (-recorded +got):\n%s", path, diff)
	}
}

// setUp creates the namespace, which is deleted at the end of the test, and the definitions of the
// custom kinds.
func (s *session) setUp() {
	custom, err := os.ReadFile(definitions)
	if err != nil {
		s.t.Fatal(err)
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": s.namespace},
	}}
	for _, obj := range append(s.parse(string(custom)), namespace) {
		if _, err := s.server.Write(s.t.Context(), cluster.Write{
			Object: obj, Method: cluster.Apply, Manager: "contract", Force: true,
		}); err != nil {
			s.t.Fatal(err)
		}
	}
	s.t.Cleanup(func() {
		ref := object.RefOf(namespace)
		if _, err := s.server.Delete(context.Background(), cluster.Delete{Ref: ref}); err != nil {
			s.t.Error(err)
		}
	})
	client, real := s.server.(*cluster.Client)
	for real && !s.servesCustomKinds(client) {
		s.pause()
		if err := client.Rediscover(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
}

// servesCustomKinds reports whether the server serves the kinds of the definitions.
func (s *session) servesCustomKinds(client *cluster.Client) bool {
	for _, kind := range []string{"Widget", "Gadget"} {
		gk := schema.GroupKind{Group: "contract.muster.dev", Kind: kind}
		if _, err := client.List(s.t.Context(), gk, s.namespace, nil); err != nil {
			return false
		}
	}
	return true
}
