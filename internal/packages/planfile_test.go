package packages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What plan --out did not write is refused, with the file and a way out.
func TestReadPlan(t *testing.T) {
	step := `{"ref":{"kind":"ConfigMap","namespace":"n","name":"a"},"op":"create"}`
	for name, tc := range map[string]struct{ text, want string }{
		"no JSON": {`form: x`, "it is not a saved plan; create one with plan --out: "},
		"another form": {
			`{"form":"muster/plan/v0"}`,
			"it is not a saved plan in the format muster/plan/v1; create it again with plan --out",
		},
		"no manager": {
			`{"form":"muster/plan/v1"}`,
			"the file is damaged or was edited: it has no field manager; create it again with plan --out",
		},
		"an operation": {
			`{"form":"muster/plan/v1","options":{"fieldManager":"m"},"steps":[` +
				strings.Replace(step, "create", "crate", 1) + `]}`,
			`the file is damaged or was edited: ` +
				`n/configmap/a has the operation "crate"; create it again with plan --out`,
		},
		"an object twice": {
			`{"form":"muster/plan/v1","options":{"fieldManager":"m"},"steps":[` + step + "," + step + `]}`,
			"the file is damaged or was edited: it has an object twice; create it again with plan --out",
		},
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
