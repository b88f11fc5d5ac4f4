package source

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
)

// TestInline: the text is one file, which goes with its release.
func TestInline(t *testing.T) {
	f, _ := newFetcher(t)
	text := "kind: ConfigMap"
	set := setOf(v1alpha1.Source{Inline: &text, Path: "./"})
	want := map[string]string{"manifests.yaml": text}
	first := checkFetch(t, f, set, "spec.source.inline", want)
	second := checkFetch(t, f, set, "spec.source.inline", want)
	first.Release()
	first.Release()
	if _, err := os.Stat(second.Folder); err != nil {
		t.Errorf("the release of one removes another: %v", err)
	}
	second.Release()
	checkEmpty(t, f)
	other := text + " "
	set.Spec.Source.Inline = &other
	if revision, _ := f.Revision(t.Context(), set); revision == first.Revision ||
		!strings.HasPrefix(revision, "sha256:") || len(revision) != len("sha256:")+64 {
		t.Errorf("another text has the revision %s", revision)
	}
}

// TestConfigMaps: all keys are files, and the revision is that of names and contents alone.
func TestConfigMaps(t *testing.T) {
	f, cluster := newFetcher(t)
	a := configMap("web.yaml", "web", "Kptfile", "kpt")
	a.BinaryData = map[string][]byte{"logo": {0xff, 0}}
	cluster.put("a", a)
	cluster.put("b", configMap("ready-rules.yaml", "rules", "empty", ""))
	set := setOf(v1alpha1.Source{ConfigMaps: named("a", "b")})
	want := map[string]string{
		"web.yaml": "web", "Kptfile": "kpt", "logo": "\xff\x00", "ready-rules.yaml": "rules", "empty": "",
	}
	first := checkFetch(t, f, set, "ConfigMaps a, b", want)
	set.Spec.Source.ConfigMaps = named("b", "a")
	if got := checkFetch(t, f, set, "ConfigMaps b, a", want); got.Revision != first.Revision {
		t.Error("the order changes the revision")
	}
	revisions := map[string]bool{first.Revision: true}
	for _, changed := range []*corev1.ConfigMap{
		configMap("web.yaml", "wob", "Kptfile", "kpt"), configMap("web.yam", "lweb", "Kptfile", "kpt"),
		configMap("web.yaml", "web"), configMap(),
	} {
		cluster.put("a", changed)
		revision, err := f.Revision(t.Context(), set)
		if err != nil || revisions[revision] {
			t.Errorf("%v: revision %s, %v", changed.Data, revision, err)
		}
		revisions[revision] = true
	}
}

// TestManyConfigMaps: a name stays short.
func TestManyConfigMaps(t *testing.T) {
	f, cluster := newFetcher(t)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		cluster.put(name, configMap(name, ""))
	}
	set := setOf(v1alpha1.Source{ConfigMaps: named("a", "b", "c", "d", "e")})
	checkFetch(t, f, set, "ConfigMaps a, b, c and 2 more",
		map[string]string{"a": "", "b": "", "c": "", "d": "", "e": ""})
}

// TestChangedBetween: Fetch returns the revision of the files that it fetched, although an earlier
// call of Revision has seen others.
func TestChangedBetween(t *testing.T) {
	f, cluster := newFetcher(t)
	set := setOf(v1alpha1.Source{ConfigMaps: named("a")})
	cluster.put("a", configMap("web.yaml", "1"))
	before, err := f.Revision(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	cluster.put("a", configMap("web.yaml", "2"))
	got := checkFetch(t, f, set, "ConfigMap a", map[string]string{"web.yaml": "2"})
	if got.Revision == before {
		t.Error("the revision is that of the content before")
	}
	cluster.put("a", configMap("web.yaml", "3"))
	if texts := contents(t, got.Folder); texts["web.yaml"] != "2" {
		t.Error("the folder has changed")
	}
	delete(cluster.all, namespace+"/a")
	got.Release()
	checkError(t, f, set, false, "read ConfigMap team-a/a: ", "not found")
	if _, err := f.Fetch(t.Context(), set); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}

// TestSecrets: their values are in files that the release removes, and in no error.
func TestSecrets(t *testing.T) {
	f, cluster := newFetcher(t)
	cluster.put("a", &corev1.Secret{Data: map[string][]byte{"web.yaml": []byte(secret)}})
	cluster.put("b", &corev1.Secret{Data: map[string][]byte{"web.yaml": []byte(secret + "2")}})
	set := setOf(v1alpha1.Source{Secrets: named("a")})
	checkFetch(t, f, set, "Secret a", map[string]string{"web.yaml": secret}).Release()
	checkEmpty(t, f)
	set.Spec.Source.Secrets = named("a", "b")
	checkError(t, f, set, true, "Secret a and Secret b both have the key web.yaml")
	set.Spec.Source.Secrets = named("a", "c")
	checkError(t, f, set, false, "read Secret team-a/c: ", "not found")
	f.Limit = 3
	set.Spec.Source.Secrets = named("a")
	checkError(t, f, set, true, "the files of Secret a have more than 3 bytes, which is the limit")
}

// TestBadKeys: keys that are no names of files are refused, wherever they come from.
func TestBadKeys(t *testing.T) {
	f, cluster := newFetcher(t)
	set := setOf(v1alpha1.Source{ConfigMaps: named("a")})
	for _, key := range []string{"../x", "/x", "a/b", `a\b`, "..", ".", "", "a\x00"} {
		cluster.put("a", configMap(key, "x"))
		checkError(t, f, set, true, "ConfigMap a: the key ", "is no name of a file")
	}
	both := configMap("x", "1")
	both.BinaryData = map[string][]byte{"x": nil}
	cluster.put("a", both)
	checkError(t, f, set, true, "both have the key x")
}

// TestCanceled: nothing is written for a Set that nobody waits for.
func TestCanceled(t *testing.T) {
	f, cluster := newFetcher(t)
	cluster.put("a", configMap("web.yaml", "1"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.Fetch(ctx, setOf(v1alpha1.Source{ConfigMaps: named("a")}))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	checkEmpty(t, f)
}
