package cluster

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/muster-deploy/muster/internal/object"
)

// The preconditions of a patch change nothing else in it, and no digit of a number.
func TestWithPreconditions(t *testing.T) {
	for _, tc := range []struct{ patch, uid, version, want string }{
		{`{"spec":{"serial":9007199254740993,"list":[1234567890123456789]}}`, "u", "7",
			`{"metadata":{"resourceVersion":"7","uid":"u"},` +
				`"spec":{"serial":9007199254740993,"list":[1234567890123456789]}}`},
		{`{"metadata":{"name":"a","uid":"old"},"x":1.50}`, "u", "",
			`{"metadata":{"name":"a","uid":"u"},"x":1.50}`},
		{`{"metadata":null}`, "", "1", `{"metadata":{"resourceVersion":"1"}}`},
		{`{"x":1}`, "", "", `{"x":1}`},
	} {
		got, err := withPreconditions([]byte(tc.patch), types.UID(tc.uid), tc.version)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %s, %v", tc.patch, got, err)
		}
	}
	if _, err := withPreconditions([]byte(`{"metadata":[]}`), "u", ""); err == nil {
		t.Error("metadata that is a list is no error")
	}
}

// A patch for another object than the live one is a conflict. The server takes its UID for a change
// of the UID, and calls it invalid.
func TestPatchOfAnotherObjectConflicts(t *testing.T) {
	refusal := func(fields ...string) apierrors.APIStatus {
		var list field.ErrorList
		for _, f := range fields {
			list = append(list, field.Invalid(field.NewPath(f), "a", "field is immutable"))
		}
		return apierrors.NewInvalid(schema.GroupKind{Kind: "CronTab"}, "one", list)
	}
	for _, tc := range []struct {
		name     string
		method   Method
		uid      types.UID
		fields   []string
		conflict bool
	}{
		{"patch", Patch, "u", []string{"metadata.uid"}, true},
		{"apply", Apply, "u", []string{"metadata.uid"}, true},
		{"two causes", Apply, "u", []string{"metadata.uid", "spec"}, true},
		{"without a precondition", Patch, "", []string{"metadata.uid"}, false},
		{"another field", Patch, "u", []string{"spec"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client := serving(t, func(w http.ResponseWriter, _ *http.Request) {
				status := refusal(tc.fields...).Status()
				status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(int(status.Code))
				_ = json.NewEncoder(w).Encode(status)
			})
			learn(t, client)
			_, err := client.Write(t.Context(), Write{
				Object: crontab(), Method: tc.method, PatchType: types.MergePatchType,
				Patch: []byte("{}"), UID: tc.uid,
			})
			if apierrors.IsConflict(err) != tc.conflict || apierrors.IsInvalid(err) == tc.conflict {
				t.Errorf("conflict %t is expected: %v", tc.conflict, err)
			}
		})
	}
}

// A server-side apply for another object or version than the live one is a conflict of that. The
// server judges the fields of other managers first, and does not look at the preconditions then.
func TestConflictOfManagersOfAnotherObject(t *testing.T) {
	for _, tc := range []struct {
		name, live   string // the UID and version of the live object; empty if there is none
		uid, version string // the preconditions
		managers     bool   // the conflict remains one of managers
	}{
		{"the object", "u 5", "u", "5", true},
		{"no precondition", "u 5", "", "", true},
		{"another object", "u 5", "v", "", false},
		{"another version", "u 5", "u", "4", false},
		{"no object", "", "u", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client := serving(t, func(w http.ResponseWriter, r *http.Request) {
				live := crontab()
				uid, version, exists := strings.Cut(tc.live, " ")
				live.SetUID(types.UID(uid))
				live.SetResourceVersion(version)
				failed := apierrors.NewApplyConflict([]metav1.StatusCause{{
					Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec",
				}}, "Apply failed with 1 conflict")
				if r.Method == http.MethodGet && !exists {
					failed = apierrors.NewNotFound(schema.GroupResource{}, "a")
				}
				if r.Method == http.MethodGet && exists {
					_ = json.NewEncoder(w).Encode(live.Object)
					return
				}
				w.WriteHeader(int(failed.ErrStatus.Code))
				failed.ErrStatus.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
				_ = json.NewEncoder(w).Encode(failed.ErrStatus)
			})
			learn(t, client)
			_, err := client.Write(t.Context(), Write{
				Object: crontab(), Method: Apply, UID: types.UID(tc.uid), Version: tc.version,
			})
			ofManagers := apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
			if !apierrors.IsConflict(err) || ofManagers != tc.managers {
				t.Errorf("conflict of managers %t, want %t: %v", ofManagers, tc.managers, err)
			}
		})
	}
}

// A deletion has the preconditions that are set, and no others: an empty UID would be that of no
// object.
func TestDeleteSendsItsPreconditions(t *testing.T) {
	for _, tc := range []struct{ uid, version, want string }{
		{"", "", `{}`},
		{"u", "", `{"preconditions":{"uid":"u"}}`},
		{"", "7", `{"preconditions":{"resourceVersion":"7"}}`},
		{"u", "7", `{"preconditions":{"uid":"u","resourceVersion":"7"}}`},
	} {
		var sent []byte
		client := serving(t, func(_ http.ResponseWriter, r *http.Request) {
			sent, _ = io.ReadAll(r.Body)
		})
		learn(t, client)
		d := Delete{Ref: object.RefOf(crontab()), UID: types.UID(tc.uid), Version: tc.version}
		if _, err := client.Delete(t.Context(), d); err != nil || string(sent) != tc.want {
			t.Errorf("uid %q, version %q: %s, %v", tc.uid, tc.version, sent, err)
		}
	}
}
