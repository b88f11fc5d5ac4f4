package operation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// What plan --out did not write is refused, with the file and a way out.
func TestReadPlan(t *testing.T) {
	step := `{"ref":{"kind":"ConfigMap","namespace":"n","name":"a"},"op":"create","digest":"d"}`
	whole := `{"form":"muster/plan/v1","server":{"host":"h","uid":"u"},"inventory":"i",` +
		`"package":"p","options":{"fieldManager":"m"},"steps":[` + step + `]}`
	without := func(old, replacement string) string {
		t.Helper()
		if !strings.Contains(whole, old) {
			t.Fatal(old)
		}
		return strings.Replace(whole, old, replacement, 1)
	}
	const damaged = "the file is damaged or was edited: "
	const uid = damaged + "it does not say which cluster it is for (server.uid); create it again"
	for name, tc := range map[string]struct{ text, want string }{
		"no JSON": {`form: x`, "it is not a saved plan; create one with plan --out: "},
		"another form": {
			`{"form":"muster/plan/v0"}`,
			"it is not a saved plan in the format muster/plan/v1; create it again with plan --out",
		},
		"no host":      {without(`"h"`, `null`), damaged + "it has no address of the cluster"},
		"no UID":       {without(`,"uid":"u"`, ``), uid},
		"null UID":     {without(`"uid":"u"`, `"uid":null`), uid},
		"two UIDs":     {without(`"uid":"u"`, `"uid":"u","uidUnknown":true`), uid},
		"no record":    {without(`"i"`, `null`), damaged + "it has no record"},
		"no package":   {without(`"p"`, `null`), damaged + "it has no digest of the objects"},
		"no manager":   {without(`"m"`, `null`), damaged + "it has no field manager; create it again"},
		"no options":   {without(`{"fieldManager":"m"}`, `null`), damaged + "it has no field manager"},
		"no steps":     {without(`[`+step+`]`, `null`), damaged + "it has no steps"},
		"no digest":    {without(`"d"`, `null`), damaged + "n/configmap/a has no digest"},
		"no operation": {without(`"create"`, `null`), damaged + `n/configmap/a has the operation ""`},
		"an operation": {
			without("create", "crate"), damaged + `n/configmap/a has the operation "crate"; create it again`,
		},
		"an object twice": {without(step, step+","+step), damaged + "it has an object twice"},
	} {
		path := filepath.Join(t.TempDir(), "plan")
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadPlan(t.Context(), path)
		if err == nil || !strings.HasPrefix(err.Error(), "read the plan "+path+": "+tc.want) {
			t.Errorf("%s: error = %v, want %s", name, err, tc.want)
		}
	}
}

// A plan is for one cluster. What differs is named, also where the address does not.
func TestSavedServer(t *testing.T) {
	a := savedServer{Host: "https://a", UID: "1"}
	for _, tc := range []struct {
		other      savedServer
		same       bool
		name, seen string
	}{
		{other: savedServer{Host: "https://b", UID: "1"}, same: true},
		{other: savedServer{Host: "https://a"}, same: true},
		{savedServer{Host: "https://b", UID: "2"}, false, "https://a", "https://b"},
		{savedServer{Host: "https://a", UID: "2"}, false, "https://a (1)", "https://a (2)"},
	} {
		if got := a.equal(tc.other); got != tc.same {
			t.Errorf("same as %v: %v", tc.other, got)
		}
		if name, seen := a.distinctName(tc.other), tc.other.distinctName(a); !tc.same &&
			(name != tc.name || seen != tc.seen) {
			t.Errorf("%s, and this is %s; want %s and %s", name, seen, tc.name, tc.seen)
		}
	}
}

// The digest of an update of a whole object covers what it sends and what of that is live, but
// neither fields that the server writes, nor what a tool keeps about the object, nor random texts.
func TestSavePlanOfReplacement(t *testing.T) {
	save := func(edit func(want, have map[string]any), random string) *SavedPlan {
		t.Helper()
		metadata := func(version string) map[string]any {
			return map[string]any{"name": "a", "resourceVersion": version,
				"labels":      map[string]any{"app": random},
				"annotations": map[string]any{"kept": "v" + version, "mine": "x"}}
		}
		want := map[string]any{"kind": "ConfigMap", "metadata": metadata("1"), "data": map[string]any{
			"a": "1"}}
		have := map[string]any{"kind": "ConfigMap", "metadata": metadata("1"), "data": map[string]any{
			"a": "0", "other": "1"}}
		edit(want, have)
		p := &plan.Plan{Bookkeeping: []string{"kept"}, Steps: []plan.Step{{
			Ref: object.Ref{Kind: "ConfigMap", Name: "a"}, Op: plan.Update, FullReplace: true,
			Want: &unstructured.Unstructured{Object: want}, Have: &unstructured.Unstructured{Object: have},
		}}}
		s, err := SavePlan(t.Context(), &enginetest.Cluster{}, PlanSource{
			Record: "demo/web", Plan: p, Random: []string{random}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	set := func(obj map[string]any, value string, path ...string) {
		if err := unstructured.SetNestedField(obj, value, path...); err != nil {
			t.Fatal(err)
		}
	}
	saved := save(func(_, _ map[string]any) {}, "17")
	const moved = "the cluster has changed since the plan was created:\n- configmap/a would "
	for _, tc := range []struct {
		name   string
		edit   func(want, have map[string]any)
		random string
		err    string
	}{
		{"same", func(_, _ map[string]any) {}, "17", ""},
		{"another label", func(_, _ map[string]any) {}, "18", ""},
		{"another version", func(want, have map[string]any) {
			set(want, "2", "metadata", "resourceVersion")
			set(have, "2", "metadata", "resourceVersion")
		}, "17", ""},
		{"status", func(want, have map[string]any) {
			set(want, "x", "status", "phase")
			set(have, "x", "status", "phase")
		}, "17", ""},
		{"bookkeeping", func(want, _ map[string]any) {
			set(want, "v2", "metadata", "annotations", "kept")
		}, "17", ""},
		{"field of others", func(_, have map[string]any) { set(have, "2", "data", "other") }, "17", ""},
		{"manifest", func(want, _ map[string]any) { set(want, "2", "data", "a") }, "17",
			moved + "be written differently: its manifest has changed"},
		{"live object", func(_, have map[string]any) {
			set(have, "2", "data", "a")
			set(have, "2", "metadata", "resourceVersion")
		}, "17", moved + "change differently: it was modified since"},
	} {
		err := saved.Compare(save(tc.edit, tc.random), "app")
		if (err == nil) != (tc.err == "") || err != nil && !strings.HasPrefix(err.Error(), tc.err) {
			t.Errorf("%s: error = %v, want %q", tc.name, err, tc.err)
		}
	}
	other := *saved
	other.Inventory = "demo/shop"
	if err := saved.Compare(&other, "app"); err == nil || err.Error() !=
		"the plan is of another app: it was made for demo/web, and this one is demo/shop" {
		t.Errorf("error = %v", err)
	}
}
