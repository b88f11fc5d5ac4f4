package cluster

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A write is repeated after a webhook could not be called. An object that was stored although the
// answer was an error is recognised as ours.
func TestWriteIsRepeated(t *testing.T) {
	for _, tc := range []struct {
		name   string
		stored bool // the first request was carried out
	}{
		{"refused at first", false},
		{"stored at first", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sent := 0
			client := serving(t, func(w http.ResponseWriter, r *http.Request) {
				answer := func(failed *apierrors.StatusError) {
					w.WriteHeader(int(failed.ErrStatus.Code))
					_ = json.NewEncoder(w).Encode(failed.ErrStatus)
				}
				if r.Method == http.MethodPost {
					sent++
				}
				switch {
				case r.Method == http.MethodPost && sent == 1:
					answer(apierrors.NewInternalError(errors.New(
						`failed calling webhook "check": no endpoints`,
					)))
				case r.Method == http.MethodPost && tc.stored:
					answer(apierrors.NewAlreadyExists(pods, "a"))
				default:
					_ = json.NewEncoder(w).Encode(crontab().Object)
				}
			})
			learn(t, client)
			stored, err := client.Write(t.Context(), Write{Object: crontab(), Method: Create})
			if err != nil || sent != 2 || stored.GetName() != "a" {
				t.Errorf("%v, %v after %d requests", stored, err, sent)
			}
		})
	}
}

// An object that the server is to name is sent again only after an answer that comes before its
// storage: else there would be two. The error says how to look for it, and nobody repeats it.
func TestUnnamedOnce(t *testing.T) {
	plain := func(text string) *apierrors.StatusError {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Message: text}}
	}
	for _, tc := range []struct {
		name   string
		first  *apierrors.StatusError // nil breaks the connection
		named  bool
		dry    bool
		repeat bool
	}{
		{name: "timeout", first: timeout},
		{name: "timeout, named", first: timeout, named: true, repeat: true},
		{name: "timeout, dry run", first: timeout, dry: true, repeat: true},
		{name: "internal error", first: internal},
		{name: "etcd", first: plain("etcdserver: request timed out")},
		{name: "leader", first: plain("etcdserver: leader changed")},
		{name: "unavailable", first: apierrors.NewServiceUnavailable("try later")},
		{name: "conversion", first: plain("conversion webhook for example.com/v1 failed: refused")},
		{name: "broken connection"},
		{
			name: "admission", repeat: true,
			first: apierrors.NewInternalError(errors.New(`failed calling webhook "check": refused`)),
		},
		{name: "too many", first: apierrors.NewTooManyRequests("later", 0), repeat: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var sent atomic.Int32
			client := serving(t, func(w http.ResponseWriter, r *http.Request) {
				switch repeated := sent.Add(1) > 1; {
				case repeated:
					_ = json.NewEncoder(w).Encode(crontab().Object)
				case tc.first == nil:
					panic(http.ErrAbortHandler)
				default:
					answer := tc.first.ErrStatus
					answer.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
					answer.Details = nil
					w.WriteHeader(int(answer.Code))
					_ = json.NewEncoder(w).Encode(answer)
				}
			})
			learn(t, client)
			obj := crontab()
			obj.SetGenerateName("a-")
			obj.SetLabels(map[string]string{"app": "x", "part": "y"})
			if !tc.named {
				obj.SetName("")
			}
			sent.Store(0)
			write := Write{Object: obj, Method: Create, DryRun: tc.dry}
			_, err := client.Write(t.Context(), write)
			if tc.repeat {
				if err != nil || sent.Load() != 2 {
					t.Errorf("%v after %d requests, want none after 2", err, sent.Load())
				}
				return
			}
			const hint = "may have been created: look with " +
				"'kubectl get crontabs.example.com -n n -l app=x,part=y'"
			if sent.Load() != 1 || err == nil || Refused(err) || WebhookUnavailable(err) ||
				!strings.Contains(err.Error(), hint) {
				t.Errorf("%v after %d requests", err, sent.Load())
			}
		})
	}
}

// learn has a client know the kind of crontab.
func learn(t *testing.T, client *Client) {
	t.Helper()
	crd := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": "example.com", "scope": "Namespaced",
		"names":    map[string]any{"kind": "CronTab", "plural": "crontabs"},
		"versions": []any{map[string]any{"name": "v1", "served": true}},
	}}}
	if err := client.LearnKind(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
}
