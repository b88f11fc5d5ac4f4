package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mutantsEnv is the environment variable that makes TestMutants run.
const mutantsEnv = "MUSTER_E2E_MUTANTS"

// mutant is a program with a defect: in a file, one text is replaced by another. Tests are those
// that must find it.
type mutant struct{ tests, name, file, text, with string }

// brokenTests are the tests that break what a program does, and lawTests those of laws that hold
// for all objects.
const (
	brokenTests = "^Test(Faults|Crash)$"
	lawTests    = "^TestLaws$"
)

var mutants = []mutant{{
	tests: brokenTests,
	name:  "writes objects before the record lists them",
	file:  "internal/engine/apply.go",
	text:  "if err := e.saveIntent(ctx, p); err != nil {",
	with:  "if err := error(nil); err != nil {",
}, {
	tests: brokenTests,
	name:  "forgets objects that it could not write or delete",
	file:  "internal/engine/apply.go",
	text:  "if member, ok := memberAfter(step, &tracks[i], known); ok {",
	with: "if member, ok := memberAfter(step, &tracks[i], known); ok && " +
		"tracks[i].acted != event.Failed {",
}, {
	tests: brokenTests,
	name:  "takes an update that the server refused for done",
	file:  "internal/engine/write.go",
	text:  "if stored != nil || !overtaken(step, refused) {",
	with: "if refused != nil && step.Have != nil { return step, step.Have, nil }; " +
		"if stored != nil || !overtaken(step, refused) {",
}, {
	tests: lawTests,
	name:  "leaves members of unions beside others",
	file:  "internal/diff/obstacles.go",
	text:  "builtin.Rivals(meta, in.want, in.live)",
	with:  "builtin.Rivals(meta, nil, nil)",
}, {
	tests: lawTests,
	name:  "leaves list items whose keys others changed",
	file:  "internal/diff/obstacles.go",
	text:  "if !l.collides(want, have) && (at >= 0 || !l.excludes(want, have)) {",
	with:  "if at >= -1 {",
}, {
	tests: lawTests,
	name:  "applies the rules of aggregated roles",
	file:  "internal/plan/decide.go",
	text:  "want = diff.WithoutIgnored(want)\n",
	with:  "_ = diff.WithoutIgnored\n",
}, {
	tests: lawTests,
	name:  "applies stringData without encoding it",
	file:  "internal/plan/decide.go",
	text:  "want, former.StaleData = diff.WithEncodedData(want),",
	with:  "_, _ = diff.WithEncodedData(want),",
}, {
	tests: lawTests,
	name:  "takes conflicts with an object that ends for failures",
	file:  "internal/engine/write.go",
	text:  "return apierrors.IsAlreadyExists(err) || changed && step.ServerSide",
	with:  "return apierrors.IsAlreadyExists(err)",
}, {
	tests: lawTests,
	name:  "merges lists that have a key twice by strategic patches",
	file:  "internal/diff/patch.go",
	text:  "in, lists, _ := splitLists(in, m.meta)\n",
	with: "if patch, err = m.create(in); err == nil {\n" +
		"_, err = strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(\n" +
		"live.DeepCopy().Object, patch, m.meta)\n}\n" +
		"if err != nil { return nil, \"\", nil, withoutValues(err) }\n" +
		"in, lists, _ := splitLists(in, m.meta)\n",
}}

// TestMutantTexts checks that the texts that mutants replace are in their files, once each.
func TestMutantTexts(t *testing.T) {
	for _, m := range mutants {
		source, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(m.file)))
		check(t, err)
		if strings.Count(string(source), m.text) != 1 {
			t.Errorf("%s: %s has not exactly one %q", m.name, m.file, m.text)
		}
	}
}

// TestMutants shows that the tests with broken requests and killed commands, and those of laws, can
// fail: it runs them with programs that have a defect, and expects that they fail for each. It runs
// only if it is asked for: each program has a plane of its own.
func TestMutants(t *testing.T) {
	if os.Getenv(mutantsEnv) == "" {
		t.Skipf("%s is not set", mutantsEnv)
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0],
				"-test.run="+m.tests, "-test.parallel=12", "-test.timeout=1h")
			cmd.Env = append(os.Environ(), binEnv+"="+m.build(t))
			out, err := cmd.CombinedOutput()
			failed := regexp.MustCompile(`(?m)^ +--- FAIL: .*$`).FindAll(out, -1)
			if err == nil || len(failed) == 0 {
				t.Fatalf("no test fails with this program: %v\n%s", err, out)
			}
			t.Logf("%d tests fail:\n%s", len(failed), out)
		})
	}
}

// build builds the program into a folder beside the programs of the plane, and returns the folder.
func (m mutant) build(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	check(t, err)
	dir, file := t.TempDir(), filepath.Join(root, filepath.FromSlash(m.file))
	source, err := os.ReadFile(file)
	check(t, err)
	changed, overlay := filepath.Join(dir, "changed"), filepath.Join(dir, "overlay.json")
	check(t, os.WriteFile(changed,
		[]byte(strings.Replace(string(source), m.text, m.with, 1)), 0o600))
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	check(t, err)
	check(t, os.WriteFile(overlay, list, 0o600))
	for _, name := range programs[1:] {
		check(t, os.Symlink(filepath.Join(bin, name), filepath.Join(dir, name)))
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay,
		"-o", filepath.Join(dir, programs[0]), "./cmd/muster")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return dir
}
