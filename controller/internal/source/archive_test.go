package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
)

var gitRepository = schema.GroupVersionKind{
	Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "GitRepository",
}

// repositoryOf returns a GitRepository with a status.
func repositoryOf(status map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	object.SetGroupVersionKind(gitRepository)
	object.SetNamespace(namespace)
	return object
}

// artifactAt returns a GitRepository with an artifact.
func artifactAt(url string, d digest.Digest, revision string) *unstructured.Unstructured {
	return repositoryOf(map[string]any{"artifact": map[string]any{
		"url": url, "digest": d.String(), "revision": revision,
	}})
}

// fromArtifact returns a Set whose manifests are those of the GitRepository shop.
func fromArtifact(path string) *v1alpha1.Set {
	return setOf(v1alpha1.Source{Path: path, Artifact: &v1alpha1.ArtifactSource{
		APIVersion: gitRepository.GroupVersion().String(), Kind: gitRepository.Kind, Name: "shop",
	}})
}

// pack returns an archive. A name with a target is a link, and one that ends in / is a folder.
func pack(t *testing.T, entries ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	w := tar.NewWriter(compressed)
	for _, entry := range entries {
		name, text, _ := strings.Cut(entry, "=")
		h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}
		switch link, target, found := strings.Cut(name, " -> "); {
		case found:
			h = &tar.Header{Name: link, Linkname: target, Typeflag: tar.TypeSymlink}
		case strings.HasSuffix(name, "/"):
			h.Typeflag = tar.TypeDir
		case strings.HasPrefix(name, "device"):
			h.Typeflag = tar.TypeChar
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// serve starts a server whose requests are counted.
func serve(t *testing.T, handler http.HandlerFunc) (url string, requests *atomic.Int64) {
	t.Helper()
	requests = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

// TestArtifact: an archive is fetched once while its digest is the same.
func TestArtifact(t *testing.T) {
	f, cluster := newFetcher(t)
	body := pack(t, "./", "prod/", "prod/web.yaml=web", "base/db.yaml=db")
	url, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.UserAgent() != f.UserAgent {
			t.Errorf("the user agent is %q", r.UserAgent())
		}
		_, _ = w.Write(body)
	})
	cluster.put("shop", artifactAt(url+"/1.tar.gz", digest.FromBytes(body), "main@sha1:1"))
	all := checkFetch(t, f, fromArtifact(""), "GitRepository shop",
		map[string]string{"prod/web.yaml": "web", "base/db.yaml": "db"})
	prod := checkFetch(t, f, fromArtifact("./prod/"), "GitRepository shop/prod",
		map[string]string{"web.yaml": "web"})
	if all.Revision != "main@sha1:1" || prod.Revision != all.Revision {
		t.Errorf("the revisions are %s, %s", all.Revision, prod.Revision)
	}
	for _, path := range []string{"none", "prod/web.yaml", "prod/none"} {
		_, err := f.Fetch(t.Context(), fromArtifact(path))
		checkText(t, err, true, "spec.source.path: there is no folder ", " in GitRepository shop")
	}
	cluster.put("shop", artifactAt(url+"/2.tar.gz", digest.FromBytes(body), ""))
	again := checkFetch(t, f, fromArtifact(""), "GitRepository shop",
		map[string]string{"prod/web.yaml": "web", "base/db.yaml": "db"})
	if again.Revision != digest.FromBytes(body).String() || again.Folder != all.Folder {
		t.Errorf("got %v, first %v", again, all)
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("there were %d requests", n)
	}
}

// TestKeptFolders: a folder that is used stays, and one that was not used for long is removed.
func TestKeptFolders(t *testing.T) {
	f, cluster := newFetcher(t)
	now := time.Now()
	f.folders.now = func() time.Time { return now }
	fetch := func(text string) *Fetched {
		t.Helper()
		body := pack(t, "web.yaml="+text)
		url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
		cluster.put("shop", artifactAt(url, digest.FromBytes(body), ""))
		return checkFetch(t, f, fromArtifact(""), "GitRepository shop",
			map[string]string{"web.yaml": text})
	}
	exists := func(got *Fetched) bool {
		_, err := os.Stat(got.Folder)
		return err == nil
	}
	first, second := fetch("1"), fetch("2")
	first.Release()
	first.Release()
	now = now.Add(keepTime - time.Second)
	if fetch("3").Release(); !exists(first) {
		t.Error("a folder was removed too early")
	}
	now = now.Add(2 * time.Second)
	if fetch("4").Release(); exists(first) || !exists(second) {
		t.Errorf("the first exists: %t, the second, which is used: %t", exists(first), exists(second))
	}
	if err := os.RemoveAll(f.Dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(f.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	fetch("2")
}

// TestNoArtifact: what another controller may still write is waited for.
func TestNoArtifact(t *testing.T) {
	f, cluster := newFetcher(t)
	checkError(t, f, fromArtifact(""), false, "read GitRepository team-a/shop: ", "not found")
	if revision, err := f.Revision(t.Context(), fromArtifact("")); err == nil {
		t.Errorf("the revision is %q", revision)
	}
	cluster.put("shop", repositoryOf(nil))
	checkError(t, f, fromArtifact(""), false, "GitRepository team-a/shop: there is no artifact yet")
	cluster.put("shop", repositoryOf(map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": "False", "message": "failed to clone"},
	}}))
	checkError(t, f, fromArtifact(""), false, "(.status.artifact): failed to clone")
	elsewhere := artifactAt("http://example.com", digest.FromString("x"), "")
	elsewhere.SetNamespace("")
	cluster.put("shop", elsewhere)
	checkError(t, f, fromArtifact(""), true, "objects of this kind are in no namespace")
	set := fromArtifact("")
	set.Spec.Source.Artifact.APIVersion = "a/b/c"
	checkError(t, f, set, true, "it needs apiVersion")
}

// TestBadArtifact: what is wrong with an artifact is found before any of its files is written.
func TestBadArtifact(t *testing.T) {
	f, cluster := newFetcher(t)
	f.Limit = 1000
	bomb := bytes.NewReader(pack(t, "a="+strings.Repeat("\x00", 100_000)))
	for name, test := range map[string]struct {
		body    []byte
		invalid bool
		want    string
	}{
		"no archive":     {[]byte("text"), true, "the archive is damaged, or is none"},
		"empty":          {nil, true, "the archive is empty"},
		"path traversal": {pack(t, "../web.yaml=x"), true, `"../web.yaml" is not one below`},
		"absolute path":  {pack(t, "/etc/web.yaml=x"), true, "is not one below"},
		"link":           {pack(t, "web.yaml -> /etc/passwd"), true, "links are not unpacked"},
		"device":         {pack(t, "device"), true, "is no regular file"},
		"bomb":           {readAll(t, bomb), true, "have more than 1000 bytes"},
		"cut":            {pack(t, "a=x")[:20], true, "the archive is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(test.body) })
			cluster.put("shop", artifactAt(url, digest.FromBytes(test.body), ""))
			checkError(t, f, fromArtifact(""), test.invalid, "GitRepository team-a/shop: ", test.want)
		})
	}
	for _, test := range []struct{ url, digest, want string }{
		{"file:///etc/passwd", "", ".status.artifact.url is no address"},
		{"", "", ".status.artifact.url is no address"},
		{"http://example.com/a", "", `.status.artifact.digest is ""`},
		{"http://example.com/a", "sha512:1", ".status.artifact.digest is"},
		{"http://example.com/a", "sha256:1", ".status.artifact.digest is"},
	} {
		cluster.put("shop", artifactAt(test.url, digest.Digest(test.digest), ""))
		checkError(t, f, fromArtifact(""), true, test.want)
	}
}

func readAll(t *testing.T, r io.Reader) []byte {
	t.Helper()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
