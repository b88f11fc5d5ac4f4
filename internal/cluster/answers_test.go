package cluster

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/muster-deploy/muster/internal/object"
)

// recorded is an answer of a real server.
type recorded struct {
	code int
	body string
}

// write sends the answer.
func (a recorded) write(w http.ResponseWriter) {
	if !strings.HasPrefix(a.body, "{") {
		w.Header().Set("Content-Type", "text/plain")
	}
	w.WriteHeader(a.code)
	_, _ = io.WriteString(w, a.body)
}

// recordedAnswers returns the answers in testdata/answers.txtar by name. TestAnswers of the
// end-to-end tests compares them with those of a server.
func recordedAnswers(t *testing.T) map[string]recorded {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/answers.txtar")
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]recorded{}
	for _, section := range archive.Files {
		_, answer, _ := strings.Cut(string(section.Data), "\n")
		code, body, _ := strings.Cut(answer, "\n")
		if code == "" {
			continue // a step without an answer
		}
		number, err := strconv.Atoi(code)
		if err != nil {
			t.Fatalf("%s: %v", section.Name, err)
		}
		answers[section.Name] = recorded{number, body}
	}
	return answers
}

// secretsPath is the list that the recorded answers are about.
const secretsPath = "GET /api/v1/namespaces/n/secrets"

// secretsOfAPI are the kinds of a server that has the recorded answers.
func secretsOfAPI() map[string][]metav1.APIResource {
	return map[string][]metav1.APIResource{
		"v1": {{Name: "secrets", Kind: "Secret", Namespaced: true, Verbs: listing}},
	}
}

// secretNamed returns the reference of a Secret.
func secretNamed(name string) object.Ref {
	return object.Ref{Kind: "Secret", Namespace: "n", Name: name}
}

// What a server answers about objects that the user may not list or read, that do not exist, and of
// kinds that cannot be listed or are not served.
func TestReadOfRecordedAnswers(t *testing.T) {
	const list, get = "?fieldSelector=metadata.name%3Done&limit=10", "/one"
	for name, tc := range map[string]struct {
		list, get string // answers
		want      string
	}{
		"object":       {"forbidden list", "object", "object"},
		"no lists":     {"kind without lists", "object", "object"},
		"missing":      {"forbidden list", "missing object", "missing"},
		"forbidden":    {"forbidden list", "forbidden object", "denied"},
		"unknown kind": {"unknown kind", "", "not served"},
	} {
		t.Run(name, func(t *testing.T) {
			answers := recordedAnswers(t)
			a := &api{groups: secretsOfAPI(), answers: map[string][]any{
				secretsPath + list: {answers[tc.list]}, secretsPath + get: {answers[tc.get]},
			}}
			ref := secretNamed("one")
			found, err := a.start(t).Read(t.Context(), []Target{{Ref: ref}})
			denied, got := (*DeniedError)(nil), "missing"
			switch {
			case errors.As(err, &denied):
				got = "denied"
			case err != nil:
				t.Fatal(err)
			case found.Unserved.Has(ref):
				got = "not served"
			case found.Objects[ref] != nil:
				got = "object"
			}
			if got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// The answer to a deletion says that the object is gone.
func TestRecordedDeletion(t *testing.T) {
	a := &api{groups: secretsOfAPI(), answers: map[string][]any{
		"DELETE /api/v1/namespaces/n/secrets/two": {recordedAnswers(t)["deleted object"]},
	}}
	gone, err := a.start(t).Delete(t.Context(), Delete{Ref: secretNamed("two")})
	if !gone || err != nil {
		t.Errorf("gone=%t, %v", gone, err)
	}
}

// A watch reports a deletion, and continues after its end from there. One from a version that
// the server has forgotten ends in the stream: the objects are listed again.
func TestRecordedWatches(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		asked  []string // versions of the watches; empty for a list
		events []string
	}{
		"deletion": {"watch", []string{"", "5", "5"}, []string{"one", "two", "two is gone"}},
		"expired": {"expired watch", []string{"", "5", "", "5"},
			[]string{"one", "two", "one", "two"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answers := recordedAnswers(t)
				var mu sync.Mutex
				var asked, events []string
				watched := 0
				transport := handlerTransport{func(w http.ResponseWriter, r *http.Request) {
					if !strings.HasSuffix(r.URL.Path, "/secrets") {
						(&api{groups: secretsOfAPI()}).ServeHTTP(w, r)
						return
					}
					mu.Lock()
					asked = append(asked, r.URL.Query().Get("resourceVersion"))
					watches := r.URL.Query().Get("watch") != ""
					if watches {
						watched++
					}
					second := watched > 1
					mu.Unlock()
					w.Header().Set("Content-Type", "application/json")
					switch {
					case !watches:
						answers["list"].write(w)
					case second:
						<-r.Context().Done()
					default:
						answers[tc.answer].write(w)
					}
				}}
				client, err := New(&rest.Config{Host: "http://c", Transport: transport}, Options{})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				client.Watch(ctx, []object.Ref{secretNamed("one"), secretNamed("two")},
					func(e ObjectEvent) {
						mu.Lock()
						defer mu.Unlock()
						name := e.Ref.Name
						if e.Object == nil {
							name += " is gone"
						}
						events = append(events, name)
					})
				time.Sleep(5 * time.Second)
				mu.Lock()
				if diff := cmp.Diff(tc.asked, asked); diff != "" {
					t.Errorf("versions (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tc.events, events); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				mu.Unlock()
				cancel()
				synctest.Wait()
			})
		})
	}
}
