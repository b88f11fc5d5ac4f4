package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

func TestRunGivesInputsAndComparesOutputs(t *testing.T) {
	Run(t, "testdata/*.txtar", func(t *testing.T, files map[string]string) map[string]string {
		if _, ok := files["out/upper"]; ok {
			t.Error("an output section was given as input")
		}
		return map[string]string{
			"upper": strings.ToUpper(files["words"]),
			"count": files["number"],
			"empty": "",
		}
	})
}

func TestCompareNamesEachSectionThatDiffers(t *testing.T) {
	want := map[string]string{"same": "a\n", "changed": "a\n", "gone": "a\n"}
	got := map[string]string{"same": "a\n", "changed": "b\n", "new": "c\n"}
	complaints := compare(want, got)
	for i, part := range []string{"section out/changed (-want +got)", "section out/gone is expected",
		"no section out/new"} {
		if i >= len(complaints) || !strings.Contains(complaints[i], part) {
			t.Errorf("complaint %d lacks %q in %q", i, part, complaints)
		}
	}
	if len(complaints) != 3 {
		t.Errorf("%d complaints, want 3: %q", len(complaints), complaints)
	}
}

func TestRewriteKeepsInputsAndSortsOutputs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txtar")
	archive := txtar.Parse([]byte("What it is.\n-- out/old --\nx\n-- z --\n1\n-- a --\n2\n"))
	rewrite(t, path, archive, withNewline(map[string]string{"two": "2", "one": "1\n"}))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "What it is.\n-- z --\n1\n-- a --\n2\n-- out/one --\n1\n-- out/two --\n2\n"
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}
}
