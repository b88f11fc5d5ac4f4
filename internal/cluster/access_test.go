package cluster

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/object"
)

func TestAllowed(t *testing.T) {
	const path = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	answer := func(status map[string]any) any {
		return map[string]any{
			"apiVersion": "authorization.k8s.io/v1",
			"kind":       "SelfSubjectAccessReview",
			"status":     status,
		}
	}
	for _, tc := range []struct {
		answer  any
		want    bool
		failure string
	}{
		{answer(map[string]any{"allowed": true}), true, ""},
		{answer(map[string]any{"allowed": false, "reason": "no"}), false, ""},
		{answer(map[string]any{"allowed": true, "evaluationError": "webhook"}), true, ""},
		{
			answer(map[string]any{"allowed": false, "evaluationError": "webhook"}), false,
			"ask for permission to create pods: webhook",
		},
		{http.StatusForbidden, false, "ask for permission to create pods: no"},
	} {
		a := &api{answers: map[string][]any{path: {tc.answer}}}
		got, err := a.start(t).Allowed(t.Context(), "create", "", "pods", "", "n", "")
		if got != tc.want || (err == nil) != (tc.failure == "") ||
			err != nil && err.Error() != tc.failure {
			t.Errorf("%v: %t, %v", tc.answer, got, err)
		}
		if diff := cmp.Diff([]string{path}, a.requests()); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	}
}

func TestRules(t *testing.T) {
	const path = "POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
	for _, tc := range []struct {
		answer  any
		want    map[string]any
		failure string
	}{
		{map[string]any{
			"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview",
			"status": map[string]any{"incomplete": true},
		}, map[string]any{"incomplete": true}, ""},
		{http.StatusForbidden, nil, "ask for the permissions in namespace n: no"},
	} {
		a := &api{answers: map[string][]any{path: {tc.answer}}}
		got, err := a.start(t).Rules(t.Context(), "n")
		if diff := cmp.Diff(tc.want, got); diff != "" || (err == nil) != (tc.failure == "") ||
			err != nil && err.Error() != tc.failure {
			t.Errorf("%v: %v (-want +got):\n%s", tc.answer, err, diff)
		}
	}
}

func TestUser(t *testing.T) {
	const path = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews"
	a := &api{answers: map[string][]any{path: {map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview",
		"status": map[string]any{"userInfo": map[string]any{"username": "ann"}},
	}}}}
	if name, err := a.start(t).User(t.Context()); err != nil || name != "ann" {
		t.Errorf("user %q, %v", name, err)
	}
}

func TestNodes(t *testing.T) {
	const path = "GET /api/v1/nodes?limit=250"
	for _, tc := range []struct {
		answer any
		oldest string
		more   int
		fails  bool
	}{
		{
			`{"items":[{"metadata":{"name":"a","creationTimestamp":"2026-01-02T00:00:00Z"}},` +
				`{"metadata":{"name":"b","creationTimestamp":"2026-01-01T00:00:00Z"}}]}`,
			"b", 1, false,
		},
		{
			`{"metadata":{"continue":"c","remainingItemCount":4750},"items":[{"metadata":{"name":"a"}}]}`,
			"a", 4750, false,
		},
		{`{"items":[]}`, "", 0, false},
		{`{"items":3}`, "", 0, true},
		{http.StatusForbidden, "", 0, true},
	} {
		a := &api{answers: map[string][]any{path: {tc.answer}}}
		oldest, more, err := a.start(t).Nodes(t.Context())
		if oldest != tc.oldest || more != tc.more || (err != nil) != tc.fails {
			t.Errorf("%v: %s, %d, %v", tc.answer, oldest, more, err)
		}
	}
}

func TestFollow(t *testing.T) {
	const path = "GET /api/v1/namespaces/n/pods/web/log?container=app&follow="
	a := &api{
		answers: map[string][]any{
			path + "true": {"one\ntwo\n"}, path + "false&tailLines=10": {"two\n"},
		},
	}
	c := a.start(t)
	pod := object.Ref{Kind: "Pod", Namespace: "n", Name: "web"}
	for want, o := range map[string]LogOptions{
		"one\ntwo\n": {Follow: true}, "two\n": {Lines: new(10)},
	} {
		stream, err := c.StreamLog(t.Context(), pod, "app", o)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(stream); err != nil || string(text) != want {
			t.Errorf("%+v: %q, %v", o, text, err)
		}
		_ = stream.Close()
	}
	if _, err := c.StreamLog(t.Context(), pod, "other", LogOptions{}); err == nil ||
		!strings.HasPrefix(err.Error(), "read the log of container other of n/pod/web: ") {
		t.Errorf("a log that may not be read: %v", err)
	}
}

// A log that the kubelet has removed is no log: the next one is asked for, for a while.
func TestLogOfRemovedContainer(t *testing.T) {
	const removed = "unable to retrieve container logs for containerd://f00"
	for last, want := range map[string][]string{"panic: no\n": {"panic: no"}, removed: nil} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			c := handled(t, func(w http.ResponseWriter, _ *http.Request) {
				if asked++; asked < 3 {
					_, _ = io.WriteString(w, removed)
					return
				}
				_, _ = io.WriteString(w, last)
			})
			pod := object.Ref{Kind: "Pod", Namespace: "n", Name: "web"}
			if got := c.Log(t.Context(), pod, "app", true, 3); !slices.Equal(got, want) {
				t.Errorf("after %d requests: %q, want %q", asked, got, want)
			}
		})
	}
}

// A survey of what may not be read says so once, and ends.
func TestSurveyRefused(t *testing.T) {
	a := &api{groups: kindsOfAPI()}
	seen := make(chan ObjectEvent)
	a.start(t).
		WatchQuery(
			t.Context(), Query{Kind: configMaps, Labels: "x=y"}, func(s ObjectEvent) { seen <- s },
		)
	if s := <-seen; !s.Listed || s.Err == nil || s.Object != nil {
		t.Errorf("seen %+v", s)
	}
}
