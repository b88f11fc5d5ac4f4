package source

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/manifest/kustomize"
)

// of returns the Set for another namespace.
func of(namespace string, set *v1alpha1.Set) *v1alpha1.Set {
	set.Namespace = namespace
	return set
}

// fetch returns what a Set has.
func fetch(t *testing.T, f *Fetcher, set *v1alpha1.Set) *Fetched {
	t.Helper()
	got, err := f.Fetch(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// long is a name that nobody guesses: 128 bits in base 32, or more.
var long = regexp.MustCompile(`^[A-Z2-7]{26,}$`)

// TestNames: the files of a source are in a folder of their namespace, whose own name cannot be
// guessed, and does not depend on what others fetch.
func TestNames(t *testing.T) {
	f, cluster := newFetcher(t)
	r := newRegistry(t, "")
	r.push(t, "stable", map[string]string{"web.yaml": "web"})
	spaces := map[string]string{} // of folders
	for _, namespace := range []string{"a", "b", "a-b"} {
		cluster.all[namespace+"/files"] = configMap("web.yaml", "web")
		for _, set := range []*v1alpha1.Set{
			setOf(v1alpha1.Source{ConfigMaps: named("files")}),
			r.set(v1alpha1.OCIRef{Tag: "stable"}),
		} {
			got := fetch(t, f, of(namespace, set))
			rel, err := filepath.Rel(f.Dir, got.Root)
			if err != nil {
				t.Fatal(err)
			}
			parts := strings.Split(rel, string(filepath.Separator))
			if len(parts) != 3 || !long.MatchString(parts[1]) {
				t.Fatalf("a source of namespace %s is in %s, whose name can be guessed", namespace, rel)
			}
			if other, ok := spaces[parts[0]]; ok && other != namespace {
				t.Errorf("sources of the namespaces %s and %s are in one folder", namespace, other)
			}
			spaces[parts[0]] = namespace
			defer got.Release()
		}
	}
}

// TestModes: nobody but the user of the process reads what was fetched.
func TestModes(t *testing.T) {
	f, cluster := newFetcher(t)
	cluster.put("files", &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
		Data:       map[string][]byte{"web.yaml": []byte(secret)},
	})
	r := newRegistry(t, "")
	r.push(t, "stable", map[string]string{"base/web.yaml": "web"})
	defer fetch(t, f, setOf(v1alpha1.Source{Secrets: named("files")})).Release()
	defer fetch(t, f, r.set(v1alpha1.OCIRef{Tag: "stable"})).Release()
	err := filepath.WalkDir(f.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %s", strings.TrimPrefix(path, f.Dir), info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestOthers: a kustomization does not read the source of another namespace, or another one of its
// own, although it knows the path.
func TestOthers(t *testing.T) {
	f, cluster := newFetcher(t)
	cluster.all["b/files"] = configMap("kustomization.yaml", "resources: [web.yaml]",
		"web.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: "+secret+"}}")
	cluster.put("files", cluster.all["b/files"])
	theirs := fetch(t, f, of("b", setOf(v1alpha1.Source{ConfigMaps: named("files")})))
	defer theirs.Release()
	own := fetch(t, f, setOf(v1alpha1.Source{ConfigMaps: named("files")}))
	defer own.Release()
	for _, base := range []string{theirs.Folder, own.Folder} {
		if _, err := os.Stat(filepath.Join(base, "web.yaml")); err != nil {
			t.Fatal(err)
		}
		up := strings.Repeat("../", strings.Count(f.Dir, "/")+4)
		text := "resources: [" + up + strings.TrimPrefix(base, "/") + "]"
		cluster.put("own", configMap("kustomization.yaml", text))
		got := fetch(t, f, setOf(v1alpha1.Source{ConfigMaps: named("own")}))
		_, err := kustomize.Build(t.Context(), got.Folder, kustomize.Root{Dir: got.Root},
			manifest.Options{})
		if err == nil || !strings.Contains(err.Error(), "lies outside") {
			t.Errorf("a base in another source: %v", err)
		}
		got.Release()
	}
}
