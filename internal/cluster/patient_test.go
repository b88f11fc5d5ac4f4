package cluster

import (
	"encoding/json"
	"errors"
	"net/http"
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

// An object that the server is to name is not sent again when it may have been stored: there
// would be two.
func TestUnnamedOnce(t *testing.T) {
	for _, tc := range []struct {
		name string
		sent int
	}{{"", 1}, {"a", 2}} {
		sent := 0
		client := serving(t, func(w http.ResponseWriter, r *http.Request) {
			if sent++; sent == 1 {
				timeout := apierrors.NewServerTimeout(pods, "create", 0)
				timeout.ErrStatus.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(int(timeout.ErrStatus.Code))
				_ = json.NewEncoder(w).Encode(timeout.ErrStatus)
				return
			}
			_ = json.NewEncoder(w).Encode(crontab().Object)
		})
		learn(t, client)
		obj := crontab()
		obj.SetName(tc.name)
		obj.SetGenerateName("a-")
		sent = 0
		_, err := client.Write(t.Context(), Write{Object: obj, Method: Create})
		if sent != tc.sent || (err == nil) != (tc.name != "") || err != nil && Refused(err) {
			t.Errorf("named %q: %v after %d requests", tc.name, err, sent)
		}
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
