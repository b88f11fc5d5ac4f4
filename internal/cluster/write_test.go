package cluster

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/object"
)

// Only a Status with a UID means that an object is gone.
func TestDelete(t *testing.T) {
	status := func(details *metav1.StatusDetails) metav1.Status {
		return metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status:   metav1.StatusSuccess,
			Details:  details,
		}
	}
	for _, tc := range []struct {
		name   string
		answer any
		dry    bool
		gone   bool
		fails  bool
	}{
		{"removed", status(&metav1.StatusDetails{Name: "one", UID: "u"}), false, true, false},
		{
			"would be removed", status(&metav1.StatusDetails{Name: "one", UID: "u"}), true, false,
			false,
		},
		{"accepted", status(&metav1.StatusDetails{Name: "one"}), false, false, false},
		{"no details", status(nil), false, false, false},
		{"leaving", thing("v1", "ConfigMap", "n/one", ""), false, false, false},
		{
			"an object with such fields",
			map[string]any{
				"kind": "Own", "status": "Success", "details": map[string]any{"uid": "u"},
			},
			false, false, false,
		},
		{"no words", "", false, false, false},
		{"not there", http.StatusNotFound, false, true, false},
		{"forbidden", http.StatusForbidden, false, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := &api{
				groups: kindsOfAPI(),
				answers: map[string][]any{
					"DELETE /api/v1/namespaces/n/configmaps/one": {tc.answer},
				},
			}
			gone, err := a.start(t).
				Delete(
					t.Context(),
					Delete{
						Ref: object.Ref{Kind: "ConfigMap", Namespace: "n", Name: "one"}, UID: "u",
						DryRun: tc.dry,
					},
				)
			if gone != tc.gone || (err != nil) != tc.fails {
				t.Errorf("gone %t, error %v", gone, err)
			}
		})
	}
	a := &api{groups: kindsOfAPI(), answers: map[string][]any{
		"DELETE /apis/apps/v1/namespaces/n/deployments/one": {
			status(&metav1.StatusDetails{UID: "u"}),
		}, "DELETE /api/v1/namespaces/n": {status(&metav1.StatusDetails{UID: "u"})},
	}}
	c := a.start(t)
	for _, ref := range []object.Ref{
		{Group: "apps", Kind: "Deployment", Namespace: "n", Name: "one"},
		{Kind: "Namespace", Name: "n"},
	} {
		if gone, err := c.Delete(t.Context(), Delete{Ref: ref}); err != nil || !gone {
			t.Errorf("%s: gone %t, error %v", ref, gone, err)
		}
	}
}
