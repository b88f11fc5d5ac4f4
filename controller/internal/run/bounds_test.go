package run

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-deploy/muster"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/clusters"
	"github.com/muster-deploy/muster/controller/internal/gate"
	"github.com/muster-deploy/muster/controller/internal/members"
	"github.com/muster-deploy/muster/controller/internal/source"
)

// stuck is a server of ConfigMaps that does not answer until the test sends the answer, whatever
// becomes of the request.
type stuck struct {
	client.Reader
	asked   chan struct{}
	answers chan string
}

// Get implements client.Reader.
func (s stuck) Get(
	_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption,
) error {
	s.asked <- struct{}{}
	o.(*corev1.ConfigMap).Data = map[string]string{"a.yaml": <-s.answers}
	return nil
}

// kinds answers requests for the kinds of a server that has nothing but Secrets and Namespaces.
type kinds struct{}

// RoundTrip implements http.RoundTripper.
func (kinds) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, status := map[string]string{
		"/api":  answers["/api"],
		"/apis": answers["/apis"],
		"/api/v1": `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [
			{"name": "namespaces", "kind": "Namespace", "namespaced": false, "verbs": ["list"]}]}`,
	}[r.URL.Path], http.StatusOK
	if answer == "" {
		status = http.StatusNotFound
	}
	return &http.Response{
		StatusCode: status, Body: io.NopCloser(strings.NewReader(answer)), Request: r,
		Header: http.Header{"Content-Type": {"application/json"}},
	}, nil
}

// newStuck returns a runner with one slot, whose sources do not answer.
func newStuck(t *testing.T) (*Runner, stuck) {
	t.Helper()
	reader := stuck{asked: make(chan struct{}, 10), answers: make(chan string, 10)}
	near := &rest.Config{Host: "https://near", Transport: kinds{}}
	return &Runner{
		Pool:    clusters.NewPool(near, reader, "", nil),
		Gate:    gate.New(1, 1, nil),
		Sources: &source.Fetcher{Reader: reader, Dir: t.TempDir()},
		Members: members.New(func(types.NamespacedName, bool) {}), Changed: func(types.NamespacedName) {},
	}, reader
}

// fromConfigMap returns a Set whose source is a ConfigMap.
func fromConfigMap() *v1alpha1.Set {
	set := &v1alpha1.Set{}
	set.Namespace, set.Name, set.Spec.ServiceAccountName = "shop", "shop", "deployer"
	set.Spec.Source.ConfigMaps = []v1alpha1.LocalReference{{Name: "shop"}}
	return set
}

// TestSlowSourceHasTurn: a source that is slow gives its slot to others, and what is read of it
// waits for its turn again.
func TestSlowSourceHasTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runner, reader := newStuck(t)
		runner.Bytes = gate.NewBytes(smallSource)
		run := runner.Start(t.Context(), fromConfigMap(), Deploy, "", 0)
		<-reader.asked
		leave, err := runner.Gate.Enter(t.Context(), "shop") // once the source is slow
		if err != nil {
			t.Fatal(err)
		}
		if runner.Bytes.Try("other", smallSource) != nil {
			t.Error("a slow source does not count as memory")
		}
		reader.answers <- "{"
		synctest.Wait()
		if out := run.Outcome(); out != nil {
			t.Errorf("it worked without a slot: %v", out.Err)
		}
		leave()
		<-run.Done()
		if out := run.Outcome(); out.Phase != Opening {
			t.Errorf("it ended in phase %s: %v", out.Phase, out.Err)
		}
		runner.Wait()
		if runner.Bytes.Try("other", smallSource) == nil {
			t.Error("a run that has ended counts as memory")
		}
	})
}

// TestAbandoned: a run that does not end although it is asked to is abandoned: its slot is free,
// and it has an outcome.
func TestAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runner, reader := newStuck(t)
		runner.Quiet = time.Hour
		run := runner.Start(t.Context(), fromConfigMap(), Deploy, "", 0)
		<-reader.asked
		run.Supersede()
		time.Sleep(time.Hour / 2)
		if out := run.Outcome(); out == nil || !out.Superseded() {
			t.Errorf("after a long time: %+v", out)
		}
		leave, err := runner.Gate.Enter(t.Context(), "shop")
		if err != nil {
			t.Fatal(err)
		}
		leave()
		name := types.NamespacedName{Namespace: "shop", Name: "shop"}
		if runner.Abandoned(name, Deploy) == "" || runner.Abandoned(name, Destroy) != "" {
			t.Error("another run may begin, or the Set cannot be deleted")
		}
		reader.answers <- "{}"
		runner.Wait()
		if why := runner.Abandoned(name, Deploy); why != "" {
			t.Errorf("after its end: %s", why)
		}
	})
}

// TestNoScripts: nothing is read of a Set whose rules are scripts.
func TestNoScripts(t *testing.T) {
	set := fromConfigMap()
	set.Spec.Format, set.Spec.App = v1alpha1.FormatApp, &v1alpha1.AppSpec{Name: "shop"}
	from, dir := sourceOf(set), t.TempDir()
	from.Files = []string{dir}
	err := os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte(`apiVersion: kapp.k14s.io/v1alpha1
kind: Config
waitRules:
- ytt: {funcContractV1: {resource.star: "def is_done(r): return {}\nend\n"}}
  resourceMatchers: [{allMatcher: {}}]
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	near := &rest.Config{Host: "https://near", Transport: kinds{}}
	cluster, err := muster.Connect(near, muster.ConnectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = muster.Open(t.Context(), cluster, from)
	if err == nil || !strings.Contains(err.Error(), "it has rules in ytt") {
		t.Errorf("got %v", err)
	}
}
