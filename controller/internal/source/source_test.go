package source

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/internal/feature/artifact"
)

const (
	namespace = "team-a"
	secret    = "hunter2" // is in no error
)

// objects is a cluster that only Get reads, by NAMESPACE/NAME.
type objects struct {
	client.Reader
	all  map[string]client.Object
	gets int
}

func (o *objects) Get(
	_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption,
) error {
	o.gets++
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, key.Name)
	found, ok := o.all[key.String()]
	if !ok {
		return notFound
	}
	switch into := into.(type) {
	case *corev1.ConfigMap:
		object, ok := found.(*corev1.ConfigMap)
		if !ok {
			return notFound
		}
		object.DeepCopyInto(into)
	case *corev1.Secret:
		object, ok := found.(*corev1.Secret)
		if !ok {
			return notFound
		}
		object.DeepCopyInto(into)
	case *unstructured.Unstructured:
		object, ok := found.(*unstructured.Unstructured)
		if !ok || object.GroupVersionKind() != into.GroupVersionKind() {
			return notFound
		}
		object.DeepCopyInto(into)
	}
	return nil
}

// put sets an object, by its name in the namespace.
func (o *objects) put(name string, object client.Object) { o.all[namespace+"/"+name] = object }

// configMap returns a ConfigMap, whose keys and texts follow one another.
func configMap(pairs ...string) *corev1.ConfigMap {
	c := &corev1.ConfigMap{Data: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		c.Data[pairs[i]] = pairs[i+1]
	}
	return c
}

// newFetcher returns a fetcher with an empty cluster, and its directory.
func newFetcher(t *testing.T) (*Fetcher, *objects) {
	t.Helper()
	cluster := &objects{all: map[string]client.Object{}}
	dir := filepath.Join(t.TempDir(), "sources")
	return &Fetcher{Reader: cluster, Dir: dir, UserAgent: "muster-controller/test"}, cluster
}

// setOf returns a Set with a source.
func setOf(s v1alpha1.Source) *v1alpha1.Set {
	return &v1alpha1.Set{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"},
		Spec:       v1alpha1.SetSpec{Source: s},
	}
}

// named returns references to objects.
func named(names ...string) (all []v1alpha1.LocalReference) {
	for _, name := range names {
		all = append(all, v1alpha1.LocalReference{Name: name})
	}
	return all
}

// contents returns the texts of the files in a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree, err := artifact.ReadFolder(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for name, file := range tree {
		texts[name] = string(file.Data)
	}
	return texts
}

// checkFetch fetches, compares the files and the name, and returns what was fetched.
func checkFetch(
	t *testing.T, f *Fetcher, set *v1alpha1.Set, name string, files map[string]string,
) *Fetched {
	t.Helper()
	revision, err := f.Revision(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Fetch(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	if texts := contents(t, got.Folder); !maps.Equal(texts, files) {
		t.Errorf("%s: the folder has %q, want %q", name, texts, files)
	}
	if got.Name != name || got.Revision != revision {
		t.Errorf("got name %q, revision %s; want %q, %s", got.Name, got.Revision, name, revision)
	}
	return got
}

// checkError checks an error of Fetch, and that Fetch leaves no files.
func checkError(
	t *testing.T, f *Fetcher, set *v1alpha1.Set, isInvalid bool, wants ...string,
) {
	t.Helper()
	got, err := f.Fetch(t.Context(), set)
	if err == nil {
		t.Errorf("fetched %s, want an error with %q", got.Name, wants)
		return
	}
	checkText(t, err, isInvalid, wants...)
	checkEmpty(t, f)
}

// checkText checks the text and the type of an error.
func checkText(t *testing.T, err error, isInvalid bool, wants ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want %q in it", wants)
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if found := (*InvalidError)(nil); errors.As(err, &found) != isInvalid {
		t.Errorf("%v: that it is invalid is %t, want %t", err, !isInvalid, isInvalid)
	}
	if strings.Contains(err.Error(), secret) {
		t.Errorf("the error has the secret: %v", err)
	}
}

// checkEmpty checks that there are no files.
func checkEmpty(t *testing.T, f *Fetcher) {
	t.Helper()
	entries, err := os.ReadDir(f.Dir)
	if err != nil && !os.IsNotExist(err) || len(entries) > 0 {
		t.Errorf("there are files left: %v, %v", entries, err)
	}
}

// TestNoSource: a Set that names nothing, or a folder outside, is refused without a request.
func TestNoSource(t *testing.T) {
	f, _ := newFetcher(t)
	text := "x"
	checkError(t, f, setOf(v1alpha1.Source{}), true, "spec.source: it names nothing")
	for _, path := range []string{"../x", "/x", "a/../../x", ".."} {
		s := setOf(v1alpha1.Source{OCI: &v1alpha1.OCISource{URL: "oci://127.0.0.1:1/x"}, Path: path})
		checkError(t, f, s, true, "spec.source.path: ", "is no folder below")
		if _, err := f.Revision(t.Context(), s); err == nil {
			t.Errorf("%s has a revision", path)
		}
	}
	checkError(t, f, setOf(v1alpha1.Source{Inline: &text, Path: "prod"}), true,
		"spec.source.path: only oci and artifact have folders")
}

// TestPrepare: the directory becomes private, and only what an earlier process has left is removed.
func TestPrepare(t *testing.T) {
	f, _ := newFetcher(t)
	for _, name := range []string{"namespace-a/1/files/a", "namespace-b", "other"} {
		file := filepath.Join(f.Dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text := "x"
	got, err := f.Fetch(t.Context(), setOf(v1alpha1.Source{Inline: &text}))
	if err != nil {
		t.Fatal(err)
	}
	got.Release()
	entries, err := os.ReadDir(f.Dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "other" {
		t.Errorf("there are %v, %v", entries, err)
	}
	if info, err := os.Stat(f.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info.Mode(), err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(f.Dir, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", link, filepath.Join(f.Dir, "other")} {
		other := &Fetcher{Dir: dir}
		if _, err := other.Fetch(t.Context(), setOf(v1alpha1.Source{Inline: &text})); err == nil {
			t.Errorf("files are written to %q", dir)
		}
	}
}
