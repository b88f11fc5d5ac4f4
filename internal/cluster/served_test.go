package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/muster-deploy/muster/internal/object"
)

// crontab is an object of a kind that the server of these tests does not list among its own.
func crontab() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "CronTab",
		"metadata": map[string]any{"name": "a", "namespace": "n"},
	}}
}

// serving is a client of a server that knows no kinds, and answers all else by a function.
func serving(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(withoutKinds(answer))
	t.Cleanup(server.Close)
	client, err := New(&rest.Config{Host: server.URL}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// withoutKinds is the handler of a server that knows no kinds, and answers all else by a function.
func withoutKinds(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api":
			_ = json.NewEncoder(w).Encode(metav1.APIVersions{
				TypeMeta: metav1.TypeMeta{Kind: "APIVersions"},
			})
		case "/apis":
			_ = json.NewEncoder(w).
				Encode(metav1.APIGroupList{
					TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
				})
		default:
			answer(w, r)
		}
	}
}

// An object of a kind that is only just defined does not exist, until one was written or turned
// out to be there.
func TestDefinedKindIsServedOnceWritten(t *testing.T) {
	for _, status := range []int{http.StatusCreated, http.StatusConflict} {
		client := serving(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPost && status == http.StatusConflict:
				w.WriteHeader(status)
				_ = json.NewEncoder(w).Encode(metav1.Status{
					TypeMeta: metav1.TypeMeta{
						Kind:       "Status",
						APIVersion: "v1",
					}, Status: "Failure", Reason: metav1.StatusReasonAlreadyExists,
					Code: http.StatusConflict,
				})
			case r.Method == http.MethodPost:
				w.WriteHeader(status)
				_ = json.NewEncoder(w).Encode(crontab().Object)
			default:
				_ = json.NewEncoder(w).Encode(map[string]any{
					"apiVersion": "example.com/v1", "kind": "CronTabList",
					"metadata": map[string]any{"resourceVersion": "5"},
					"items":    []any{crontab().Object},
				})
			}
		})
		learn(t, client)
		for _, want := range []int{0, 1} {
			snapshot, err := client.Read(t.Context(), []Target{{Ref: object.RefOf(crontab())}})
			if err != nil || len(snapshot.Objects) != want {
				t.Errorf("answer %d: read %v, %v; want %d objects", status, snapshot, err, want)
			}
			if _, err := client.Write(
				t.Context(), Write{Object: crontab(), Method: Create},
			); (err != nil) != (status == http.StatusConflict) {
				t.Errorf("answer %d: write: %v", status, err)
			}
		}
	}
}

// Whoever waits for a server that does not say which kinds it has can stop waiting; the others
// get the answer.
func TestDiscoveryEndsWithTheContext(t *testing.T) {
	answers := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-answers
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).
			Encode(metav1.APIGroupList{
				TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
			})
	}))
	t.Cleanup(server.Close)
	client, err := New(&rest.Config{Host: server.URL}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error), make(chan error)
	ask := func(ctx context.Context, said chan error) {
		_, err := client.Kind(ctx, crontab().GroupVersionKind().GroupKind())
		said <- err
	}
	go ask(ctx, first)
	go ask(t.Context(), second)
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that was cancelled: %v", err)
	}
	close(answers)
	if err, unknown := <-second, (*UnknownKindError)(nil); !errors.As(err, &unknown) {
		t.Errorf("the other: %v", err)
	}
}
