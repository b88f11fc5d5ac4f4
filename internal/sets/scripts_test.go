package sets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/manifest"
)

// The documents of apps with rules in ytt.
var scripted = map[string]string{
	"an overlay": `apiVersion: kapp.k14s.io/v1alpha1
kind: Config
metadata: {name: rules}
rebaseRules:
- ytt: {overlayContractV1: {overlay.yml: "#@ x = [0]*(1<<29)\n"}}
  resourceMatchers: [{allMatcher: {}}]
`,
	"a wait rule": `apiVersion: kapp.k14s.io/v1alpha1
kind: Config
metadata: {name: rules}
waitRules:
- ytt: {funcContractV1: {resource.star: "def is_done(r): return {}\nend\n"}}
  resourceMatchers: [{allMatcher: {}}]
`,
	"rules in a ConfigMap": `apiVersion: v1
kind: ConfigMap
metadata: {name: rules, labels: {kapp.k14s.io/config: ""}}
data:
  config.yml: |
    apiVersion: kapp.k14s.io/v1alpha1
    kind: Config
    waitRules:
    - ytt: {funcContractV1: {resource.star: "def is_done(r): return {}\nend\n"}}
      resourceMatchers: [{allMatcher: {}}]
`,
}

// TestNoScripts: a request without scripts refuses rules in ytt, in files and in revisions, and
// says in which document they are.
func TestNoScripts(t *testing.T) {
	for name, text := range scripted {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			err := os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte(text), 0o600)
			if err != nil {
				t.Fatal(err)
			}
			r := Request{
				App: "shop", Namespace: "shop", Files: []string{dir}, Now: time.Now,
				Notice: func(string) {},
			}
			_, err = Open(t.Context(), r)
			if overlay := name == "an overlay"; (err != nil) != overlay {
				t.Fatalf("with scripts: %v", err)
			} else if overlay && (!strings.Contains(err.Error(), "rules.yaml") ||
				!strings.Contains(err.Error(), "rebaseRules[0]") ||
				!strings.Contains(err.Error(), "`muster kapp deploy` honours it")) {
				t.Errorf("with scripts: %v", err)
			}
			r.NoScripts = true
			_, err = Open(t.Context(), r)
			if err == nil || !strings.Contains(err.Error(), "rules.yaml") ||
				!strings.Contains(err.Error(), "it has rules in ytt") {
				t.Errorf("without scripts: %v", err)
			}
			objects, err := manifest.Parse(t.Context(), []byte(text), "rules.yaml", manifest.Options{})
			if err != nil {
				t.Fatal(err)
			}
			w := newSetWorld(t, KindApp)
			b := &Baseline{
				Text: "revision 3", Title: `app "shop"`, request: r, set: &appSet{request: r},
				cluster: w.server, Revision: &history.Revision{},
			}
			for _, obj := range objects {
				b.Revision.Objects = append(b.Revision.Objects, history.Object{Unstructured: obj.Unstructured})
			}
			if err := b.prepare(t.Context()); err == nil ||
				!strings.HasPrefix(err.Error(), "revision 3") ||
				!strings.Contains(err.Error(), "rules in ytt") {
				t.Errorf("a revision: %v", err)
			}
		})
	}
}

// The rules that come with the program are no scripts of users.
func TestNoScriptsOfUsers(t *testing.T) {
	dir := t.TempDir()
	err := os.WriteFile(filepath.Join(dir, "app.yaml"), []byte("apiVersion: v1\nkind: ConfigMap\n"+
		"metadata: {name: a}\n---\napiVersion: kapp.k14s.io/v1alpha1\nkind: Config\n"+
		"metadata: {name: rules}\nrebaseRules:\n- {path: [data], type: copy, sources: [existing],\n"+
		"  resourceMatchers: [{allMatcher: {}}]}\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Request{
		App: "shop", Namespace: "shop", Files: []string{dir}, Now: time.Now,
		Notice: func(string) {}, NoScripts: true,
	})
	if err != nil {
		t.Error(err)
	}
}
