package inventory

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/object"
)

// A renamed record keeps its annotations and stores where it was, and the one that it is a copy of
// stays as it was.
func TestRenamed(t *testing.T) {
	for _, given := range []map[string]string{nil, {"team": "a"}} {
		inv := anInventory()
		inv.Annotations = given
		before := *inv
		to := inv.Renamed("there", "other")
		want := map[string]string{renamedFromKey: inv.Ref.Namespace + "/" + inv.Ref.Name}
		for key, value := range given {
			want[key] = value
		}
		if d := cmp.Diff(want, to.Annotations); d != "" {
			t.Errorf("annotations (-want +got):\n%s", d)
		}
		if to.Ref.Namespace != "there" || to.Ref.Name != "other" || to.ID != inv.ID {
			t.Errorf("renamed to %s with ID %s", to.Ref, to.ID)
		}
		if d := cmp.Diff(&before, inv); d != "" {
			t.Errorf("the original (-was +is):\n%s", d)
		}
	}
}

func TestRenameText(t *testing.T) {
	const head, other = "apiVersion: kpt.dev/v1alpha1\nkind: ResourceGroup\n",
		"---\nkind: A\nmetadata: {name: old, namespace: n}\n---\n"
	const kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: old\ninventory:\n"
	const json = `{"kind":"ResourceGroup","apiVersion":"kpt.dev/v1alpha1","metadata":`
	from, to := object.Ref{Namespace: "n", Name: "old"}, object.Ref{Namespace: "m", Name: "12"}
	for _, test := range []struct{ head, text, want string }{
		{head, "metadata: # ü\n  namespace: 'n'  # stays\n  name: \"old\"\r\n  labels: {name: old}\n",
			"metadata: # ü\n  namespace: 'm'  # stays\n  name: \"12\"\r\n  labels: {name: old}\n"},
		{other + head, "metadata: {namespace: n, name: old}\n",
			"metadata: {namespace: m, name: \"12\"}\n"},
		{json, `{"name":"old","namespace":"n"}}`, `{"name":"12","namespace":"m"}}`},
		{kptfile, "  name: old\n  namespace: n\n", "  name: \"12\"\n  namespace: m\n"},
		// Not named, named by an anchor or with a tag, and another one.
		{head, "metadata: {name: old}\n", ""},
		{head, "metadata: {name: &a old, namespace: n}\n", ""},
		{head, "metadata: {name: !!str old, namespace: n}\n", ""},
		{head, "metadata: {name: other, namespace: n}\n", ""},
		{"", "]]", ""},
	} {
		got, err := RenameText([]byte(test.head+test.text), from, to)
		if test.want == "" && err == nil ||
			test.want != "" && (err != nil || string(got) != test.head+test.want) {
			t.Errorf("%q becomes %q, %v, want %q", test.text, got, err, test.want)
		}
	}
}
