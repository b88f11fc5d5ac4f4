package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// fakeReader is a cluster with the UID 1234. It counts its requests.
type fakeReader struct {
	cluster.Reader // its other methods are not called

	requests int
}

func (*fakeReader) Host() string { return "https://c.example" }

func (f *fakeReader) Read(context.Context, []cluster.Target) (*cluster.Snapshot, error) {
	f.requests++
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetUID("1234")
	objects := map[object.Ref]*unstructured.Unstructured{systemNamespace: obj}
	return &cluster.Snapshot{Objects: objects}, nil
}

// The flag comes before the environment, the set counts beside both, and only a UID costs a
// request.
func TestClusterGuard(t *testing.T) {
	for _, tc := range []struct {
		flag, environment, set string
		args                   []string
		requests               int
		err                    string
	}{
		{},
		{flag: "1234", requests: 1},
		{flag: "context:o?e"},
		{flag: "context:one", environment: "context:two"},
		{set: "1234", environment: "context:one", requests: 1},
		{set: "context:two", args: []string{"--context", "two"}},
		{flag: "5678", requests: 1,
			err: `wrong cluster: --expect-cluster expects 5678, but this is 1234 at https://c.example ` +
				`(context "one")`},
		{environment: "context:prod-*",
			err: `MUSTER_EXPECT_CLUSTER expects context:prod-*, but this is "context:one" at ` +
				`https://c.example`},
		{flag: "context:one", set: "context:two",
			err: "wrong cluster: the annotation expects context:two"},
		{flag: "context:[", err: "the pattern \"[\" is invalid"},
	} {
		kube, _ := newTestKube(t, tc.args...)
		env := &Env{Getenv: func(string) string { return tc.environment }}
		var guard ClusterGuard
		if err := guard.Check(t.Context(), env, kube, nil, ExpectedCluster{Value: "x"}); err != nil {
			t.Errorf("a guard that is not enabled: %v", err)
		}
		flags := pflag.NewFlagSet("muster", pflag.ContinueOnError)
		guard.Add(flags)
		if err := flags.Parse([]string{"--expect-cluster", tc.flag}); err != nil {
			t.Fatal(err)
		}
		reader := &fakeReader{}
		err := guard.Check(t.Context(), env, kube, reader, ExpectedCluster{tc.set, "the annotation"})
		text := fmt.Sprint(err)
		if tc.err == "" && err != nil || !strings.Contains(text, tc.err) {
			t.Errorf("%+v: error %v", tc, err)
		}
		if reader.requests != tc.requests {
			t.Errorf("%+v: %d requests", tc, reader.requests)
		}
	}
}

// TestPlace checks the words for a cluster: its context if there is one, and no password.
func TestPlace(t *testing.T) {
	for _, tc := range []struct{ context, address, want string }{
		{"two", "https://c.example:6443", "context two, cluster https://c.example:6443"},
		{"two", "https://me:secret@c.example", "context two, cluster https://me:xxxxx@c.example"},
	} {
		kube, _ := newTestKube(t, "--context", tc.context)
		if got, err := kube.Place(tc.address); err != nil || got != tc.want {
			t.Errorf("%+v: %q, %v", tc, got, err)
		}
	}
	kube, _ := newTestKube(t, "--kubeconfig", os.DevNull)
	if got, err := kube.Place("https://c.example"); err != nil || got != "cluster https://c.example" {
		t.Errorf("without a context: %q, %v", got, err)
	}
}
