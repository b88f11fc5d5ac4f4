package source

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/internal/feature/artifact"
)

// fakeRegistry is a registry that only reads. It counts requests, and asks for a password unless it
// is empty.
type fakeRegistry struct {
	host, password string

	mutex       sync.Mutex
	requests    []string // METHOD KIND, as in: HEAD manifests
	users       map[string]bool
	contents    map[string][]byte               // by digest, and manifests by tag, too
	referrers   map[string][]ocispec.Descriptor // by digest; nil if nobody can ask
	noReferrers int                             // the status who asks nevertheless gets
	lost        map[string]bool                 // contents that cannot be read
	altered     bool                            // layers are changed on their way
}

func newRegistry(t *testing.T, password string) *fakeRegistry {
	t.Helper()
	r := &fakeRegistry{
		password: password, users: map[string]bool{}, contents: map[string][]byte{},
		referrers: map[string][]ocispec.Descriptor{}, lost: map[string]bool{},
	}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.host = server.Listener.Addr().String()
	return r
}

func (r *fakeRegistry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	user, password, _ := req.BasicAuth()
	if password != r.password {
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	r.users[user] = true
	parts := strings.Split(req.URL.Path, "/")
	kind, name := parts[len(parts)-2], parts[len(parts)-1]
	r.requests = append(r.requests, req.Method+" "+kind)
	if kind == "tags" {
		r.listTags(w, req.URL.Query().Get("last"))
		return
	}
	if kind == "referrers" {
		if r.referrers == nil {
			w.WriteHeader(r.noReferrers)
			return
		}
		w.Header().Set("Content-Type", ocispec.MediaTypeImageIndex)
		_ = json.NewEncoder(w).Encode(ocispec.Index{
			MediaType: ocispec.MediaTypeImageIndex, Manifests: r.referrers[name],
		})
		return
	}
	if r.lost[name] {
		w.WriteHeader(http.StatusGone)
		return
	}
	body, ok := r.contents[name]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Docker-Content-Digest", digest.FromBytes(body).String())
	if kind == "manifests" {
		var manifest struct{ MediaType string }
		_ = json.Unmarshal(body, &manifest) // some are none
		w.Header().Set("Content-Type", cmp.Or(manifest.MediaType, ocispec.MediaTypeImageManifest))
	} else if r.altered {
		body = slices.Clone(body)
		body[0] ^= 1
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	_, _ = w.Write(body)
}

// listTags writes a page of two tags: those after the last one of the page before.
func (r *fakeRegistry) listTags(w http.ResponseWriter, last string) {
	page := []string{}
	for _, tag := range slices.Sorted(maps.Keys(r.contents)) {
		if tag > last && !strings.Contains(tag, ":") {
			page = append(page, tag)
		}
	}
	if len(page) > 2 {
		page = page[:2]
		w.Header().Set("Link", fmt.Sprintf(`</v2/shop/tags/list?last=%s>; rel="next"`, page[1]))
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"name": "shop", "tags": page})
}

// push stores an artifact under a tag, and returns its digest.
func (r *fakeRegistry) push(t *testing.T, tag string, files map[string]string) digest.Digest {
	t.Helper()
	tree := artifact.Tree{}
	for name, text := range files {
		tree[name] = artifact.File{Data: []byte(text)}
	}
	a, err := artifact.Build(tree, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.store(tag, a.Manifest, a.Layer)
	return a.Digest()
}

// store stores a manifest and its layer.
func (r *fakeRegistry) store(tag string, manifest, layer []byte) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.contents[digest.FromBytes(layer).String()] = layer
	r.contents[digest.FromBytes(manifest).String()] = manifest
	r.contents[tag] = manifest
}

// seen returns the requests since the last call.
func (r *fakeRegistry) seen() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	text := strings.Join(r.requests, ", ")
	r.requests = nil
	return text
}

// url returns the address of a repository.
func (r *fakeRegistry) url() string { return "oci://" + r.host + "/shop" }

// set returns a Set with an artifact of the registry.
func (r *fakeRegistry) set(ref v1alpha1.OCIRef) *v1alpha1.Set {
	return setOf(v1alpha1.Source{OCI: &v1alpha1.OCISource{URL: r.url(), Ref: ref, Insecure: true}})
}

// dockerConfig returns a Secret with the password of a user.
func dockerConfig(host, user, password string) *corev1.Secret {
	login := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	return &corev1.Secret{Data: map[string][]byte{
		corev1.DockerConfigJsonKey: fmt.Appendf(nil, `{"auths":{%q:{"auth":%q}}}`, host, login),
	}}
}

// TestTag: a look at a tag is one request, and contents are fetched once.
func TestTag(t *testing.T) {
	f, _ := newFetcher(t)
	r := newRegistry(t, "")
	files := map[string]string{"prod/web.yaml": "web", "Kptfile": "kpt"}
	d := r.push(t, "stable", files)
	set := r.set(v1alpha1.OCIRef{Tag: "stable"})
	if revision, err := f.Revision(t.Context(), set); revision != "stable@"+d.String() || err != nil {
		t.Errorf("got %s, %v", revision, err)
	}
	r.seen()
	first, err := f.Fetch(t.Context(), set)
	if err != nil || first.Revision != "stable@"+d.String() || first.Name != r.url()+":stable" ||
		!maps.Equal(contents(t, first.Folder), files) {
		t.Fatalf("got %v, %v", first, err)
	}
	if seen := r.seen(); seen != "HEAD manifests, GET manifests, GET blobs" {
		t.Errorf("the requests were %s", seen)
	}
	set.Spec.Source.Path = "./prod/"
	second, err := f.Fetch(t.Context(), set)
	if err != nil || second.Folder != filepath.Join(first.Folder, "prod") ||
		second.Name != r.url()+":stable//prod" || second.Revision != first.Revision {
		t.Errorf("got %v, %v", second, err)
	}
	if seen := r.seen(); seen != "HEAD manifests" {
		t.Errorf("the requests were %s", seen)
	}
	set.Spec.Source.Path = "none"
	_, err = f.Fetch(t.Context(), set)
	checkText(t, err, true, `there is no folder "none" in `+r.url()+":stable")
	moved := r.push(t, "stable", map[string]string{"web.yaml": "2"})
	set.Spec.Source.Path = ""
	checkFetch(t, f, set, r.url()+":stable", map[string]string{"web.yaml": "2"})
	if revision, err := f.Revision(t.Context(), set); revision != "stable@"+moved.String() {
		t.Errorf("got %s, %v", revision, err)
	}
	if !maps.Equal(contents(t, first.Folder), files) {
		t.Error("the folder of the earlier artifact has changed")
	}
	r.push(t, "latest", files)
	checkFetch(t, f, r.set(v1alpha1.OCIRef{}), r.url()+":latest", files)
}

// TestSemver: the highest version in a range is deployed, from all pages of the list of tags.
func TestSemver(t *testing.T) {
	f, _ := newFetcher(t)
	r := newRegistry(t, "")
	digests := map[string]digest.Digest{}
	for _, tag := range []string{
		"1.2.0", "1.10.0", "1.9.9", "v2.0.0", "3.0.0-rc.1", "latest", "zone", "1.11",
	} {
		digests[tag] = r.push(t, tag, map[string]string{"web.yaml": tag})
	}
	for semver, tag := range map[string]string{
		">=1.2.0 <2.0.0": "1.10.0", "1.x": "1.10.0", ">=1.0": "v2.0.0", "<=1.9.9": "1.9.9",
		">=3.0.0-0": "3.0.0-rc.1",
	} {
		set := r.set(v1alpha1.OCIRef{Semver: semver})
		want := tag + "@" + digests[tag].String()
		if revision, err := f.Revision(t.Context(), set); revision != want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", semver, revision, err, want)
		}
		got := checkFetch(t, f, set, r.url()+":"+tag, map[string]string{"web.yaml": tag})
		if got.Revision != want {
			t.Errorf("%s: fetched %s, want %s", semver, got.Revision, want)
		}
	}
	moved := r.push(t, "1.10.1", map[string]string{"web.yaml": "moved"})
	set := r.set(v1alpha1.OCIRef{Semver: "1.x"})
	revision, err := f.Revision(t.Context(), set)
	if want := "1.10.1@" + moved.String(); revision != want || err != nil {
		t.Errorf("got %s, %v, want %s", revision, err, want)
	}
}

// TestSemverMissing: that no tag is in the range is an error which may be gone the next time. A
// range that is none is not.
func TestSemverMissing(t *testing.T) {
	f, _ := newFetcher(t)
	r := newRegistry(t, "")
	_, err := f.Fetch(t.Context(), r.set(v1alpha1.OCIRef{Semver: ">=4"}))
	checkText(t, err, false, r.url()+`: no tag is a version in ">=4": it has no tags`)
	for _, tag := range []string{"latest", "1.0.0", "2.0.0", "4.0.0-rc.1", "a", "b", "c"} {
		r.push(t, tag, map[string]string{"web.yaml": tag})
	}
	r.push(t, "sha256-"+strings.Repeat("0", 64)+".sig", map[string]string{"web.yaml": "signature"})
	_, err = f.Fetch(t.Context(), r.set(v1alpha1.OCIRef{Semver: ">=4"}))
	checkText(t, err, false, r.url()+`: no tag is a version in ">=4": it has 4.0.0-rc.1, 2.0.0, `+
		`1.0.0, a, b and 2 more`)
	_, err = f.Fetch(t.Context(), r.set(v1alpha1.OCIRef{Semver: "newest 1"}))
	checkText(t, err, true, `spec.source.oci.ref.semver: "newest 1" is no range of versions`)
}

// TestDigest: an artifact that is named by its digest needs no request once it was fetched.
func TestDigest(t *testing.T) {
	f, _ := newFetcher(t)
	r := newRegistry(t, "")
	files := map[string]string{"web.yaml": "web"}
	d := r.push(t, "stable", files)
	r.push(t, "stable", map[string]string{"web.yaml": "2"})
	set := r.set(v1alpha1.OCIRef{Digest: d.String()})
	name := r.url() + "@" + d.String()[:len("sha256:")+12]
	checkFetch(t, f, set, name, files)
	r.seen()
	got := checkFetch(t, f, set, name, files)
	if seen := r.seen(); seen != "" || got.Revision != d.String() {
		t.Errorf("got %s; the requests were %s", got.Revision, seen)
	}
	set.Namespace = "team-b"
	checkFetch(t, f, set, name, files)
	if seen := r.seen(); seen != "HEAD manifests, GET manifests, GET blobs" {
		t.Errorf("another namespace: the requests were %s", seen)
	}
}

// TestCredentials: the Secret of the Set is used, and neither docker's configuration of the process
// nor the Secret of another Set.
func TestCredentials(t *testing.T) {
	f, cluster := newFetcher(t)
	r := newRegistry(t, secret)
	files := map[string]string{"web.yaml": "web"}
	r.push(t, "stable", files)
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	own := dockerConfig(r.host, "controller", secret).Data[corev1.DockerConfigJsonKey]
	file := filepath.Join(os.Getenv("DOCKER_CONFIG"), "config.json")
	if err := os.WriteFile(file, own, 0o600); err != nil {
		t.Fatal(err)
	}
	with := func(name string) *v1alpha1.Set {
		set := r.set(v1alpha1.OCIRef{Tag: "stable"})
		set.Spec.Source.OCI.SecretRef = &v1alpha1.LocalReference{Name: name}
		return set
	}
	without := r.set(v1alpha1.OCIRef{Tag: "stable"})
	const refused = "the registry does not accept the credentials, or there are none: " +
		"spec.source.oci.secretRef names a Secret with them"
	checkError(t, f, without, false, refused)
	checkError(t, f, with("good"), false, "read Secret team-a/good: ", "not found")
	cluster.put("good", dockerConfig(r.host, "team", secret))
	cluster.put("wrong", dockerConfig(r.host, "team", secret+"2"))
	cluster.put("other", dockerConfig("example.com", "team", secret))
	checkError(t, f, with("wrong"), false, refused)
	checkError(t, f, with("other"), false, refused)
	checkFetch(t, f, with("good"), r.url()+":stable", files)
	for _, set := range []*v1alpha1.Set{without, with("wrong"), with("other")} {
		_, err := f.Fetch(t.Context(), set)
		checkText(t, err, false, refused)
	}
	if !maps.Equal(r.users, map[string]bool{"team": true}) {
		t.Errorf("the registry has seen the users %v", r.users)
	}
	cluster.put("good", dockerConfig(r.host, "team", "changed"))
	_, err := f.Revision(t.Context(), with("good"))
	checkText(t, err, false, refused)
}

// TestBadCredentials: a Secret that is none of docker's configuration is named, and its values are
// not.
func TestBadCredentials(t *testing.T) {
	f, cluster := newFetcher(t)
	set := newRegistry(t, secret).set(v1alpha1.OCIRef{})
	set.Spec.Source.OCI.SecretRef = &v1alpha1.LocalReference{Name: "a"}
	for text, want := range map[string]string{
		"":                      "Secret team-a/a has no key .dockerconfigjson: it has to be of type ",
		secret:                  "Secret team-a/a, key .dockerconfigjson: it is no configuration",
		`{"auths":"hunter2"}`:   "it is no configuration of docker",
		`{"auths":{"h":"huh"}}`: `the credentials of "h" are none`,
	} {
		cluster.put("a", &corev1.Secret{Data: map[string][]byte{
			corev1.DockerConfigJsonKey: []byte(text), "other": []byte(secret),
		}})
		checkError(t, f, set, true, want)
	}
}

// TestBadReference: what is no reference is refused without a request.
func TestBadReference(t *testing.T) {
	f, _ := newFetcher(t)
	for _, test := range []struct {
		url  string
		ref  v1alpha1.OCIRef
		want string
	}{
		{"https://example.com/shop", v1alpha1.OCIRef{}, "spec.source.oci.url: "},
		{"oci://user:" + secret + "@example.com/shop", v1alpha1.OCIRef{}, "spec.source.oci.url: "},
		{"oci://example.com/shop:1", v1alpha1.OCIRef{}, "name the repository alone, oci://"},
		{"oci://example.com/shop//prod", v1alpha1.OCIRef{}, "name the repository alone"},
		{"oci://example.com/shop", v1alpha1.OCIRef{Tag: "a b"}, "spec.source.oci.ref: "},
		{"oci://example.com/shop", v1alpha1.OCIRef{Digest: "sha256:1"}, "spec.source.oci.ref: "},
	} {
		checkError(t, f, setOf(v1alpha1.Source{OCI: &v1alpha1.OCISource{URL: test.url, Ref: test.ref}}),
			true, test.want)
	}
}

// TestBadContent: what a registry has is checked before a file is written.
func TestBadContent(t *testing.T) {
	f, _ := newFetcher(t)
	f.Limit = 1000
	r := newRegistry(t, "")
	set := r.set(v1alpha1.OCIRef{Tag: "bad"})
	checkError(t, f, set, false, r.url()+":bad: the registry does not have it")
	manifest := func(size int, layer []byte) []byte {
		text, err := json.Marshal(map[string]any{"schemaVersion": 2, "layers": []any{map[string]any{
			"mediaType": ocispec.MediaTypeImageLayerGzip, "digest": digest.FromBytes(layer), "size": size,
		}}})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	r.store("bad", manifest(300<<20, []byte("x")), nil)
	checkError(t, f, set, true, "its layers have more than 1000 bytes")
	if seen := r.seen(); strings.Contains(seen, "blobs") {
		t.Errorf("a layer that is too large was asked for: %s", seen)
	}
	for want, layer := range map[string][]byte{
		"is not one below":          pack(t, "../web.yaml=x"),
		"links are not unpacked":    pack(t, "web.yaml -> /etc/passwd"),
		"have more than 1000 bytes": pack(t, "a="+strings.Repeat("\x00", 100_000)),
		"no ImagesLock":             pack(t, ".imgpkg/images.yml=x"),
	} {
		r.store("bad", manifest(len(layer), layer), layer)
		checkError(t, f, set, true, want)
	}
	r.store("bad", []byte(`{"schemaVersion":2}`), nil)
	checkError(t, f, set, true, "has 0 layers")
	r.push(t, "bad", map[string]string{"web.yaml": "x"})
	r.altered = true
	checkError(t, f, set, false, "the registry sent another content than the digest says")
}

// TestBundle: the images of a bundle are those of its repository if that has them.
func TestBundle(t *testing.T) {
	f, _ := newFetcher(t)
	r := newRegistry(t, "")
	image := "example.com/web@" + digest.FromString("image").String()
	lock := "kind: ImagesLock\n" +
		"images: [{image: '" + image + "', annotations: {kbld.carvel.dev/id: web}}]"
	r.push(t, "stable", map[string]string{"web.yaml": "web", ".imgpkg/images.yml": lock})
	for range 2 {
		got, err := f.Fetch(t.Context(), r.set(v1alpha1.OCIRef{Tag: "stable"}))
		if err != nil || got.Images["web"] != image {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

// TestCanceledRegistry: nothing is left of an artifact that nobody waits for any more.
func TestCanceledRegistry(t *testing.T) {
	f, _ := newFetcher(t)
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	url := "oci://" + server.Listener.Addr().String() + "/shop"
	_, err := f.Fetch(ctx, setOf(v1alpha1.Source{OCI: &v1alpha1.OCISource{URL: url, Insecure: true}}))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	checkEmpty(t, f)
}

// TestConcurrentFetches: Sets that fetch the same artifact at once share one folder.
func TestConcurrentFetches(t *testing.T) {
	f, _ := newFetcher(t)
	now := time.Now()
	var clock sync.Mutex
	f.folders.now = func() time.Time {
		clock.Lock()
		defer clock.Unlock()
		return now
	}
	r := newRegistry(t, "")
	r.push(t, "stable", map[string]string{"web.yaml": "web"})
	var group sync.WaitGroup
	all := make([]*Fetched, 8)
	for i := range all {
		group.Go(func() {
			var err error
			if all[i], err = f.Fetch(t.Context(), r.set(v1alpha1.OCIRef{Tag: "stable"})); err != nil {
				t.Error(err)
			}
		})
	}
	if group.Wait(); t.Failed() {
		return
	}
	for _, got := range all {
		if got.Folder != all[0].Folder {
			t.Errorf("there are the folders %s and %s", got.Folder, all[0].Folder)
		}
		got.Release()
	}
	entries, err := os.ReadDir(f.Dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
	now = now.Add(keepTime + time.Second)
	f.folders.removeUnused()
	checkEmpty(t, f)
}
