package cluster

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// tagging is a server with aggregated discovery and ETags.
type tagging struct {
	kinds, tag string
	codes      []int // of the answers for /apis
}

func (s *tagging) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", aggregatedType)
	if r.URL.Path != "/apis" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Etag", s.tag)
	if s.tag != "" && r.Header.Get("If-None-Match") == s.tag {
		s.codes = append(s.codes, http.StatusNotModified)
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.codes = append(s.codes, http.StatusOK)
	_, _ = w.Write([]byte(s.kinds))
}

// run looks for a kind with a new client and returns the code of the server's answer.
func (s *tagging) run(t *testing.T, server *httptest.Server, dir, kind string) int {
	t.Helper()
	client, err := New(&rest.Config{Host: server.URL}, Options{CacheDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	found, err := client.Kind(t.Context(), schema.GroupKind{Group: "autoscaling", Kind: kind})
	if err != nil || found.Resource.Version != "v2" || !found.Listed || !found.Namespaced {
		t.Errorf("%s: %v, %v", kind, found, err)
	}
	return s.codes[len(s.codes)-1]
}

const otherScaler = `{"items":[{"metadata":{"name":"autoscaling"},"versions":[{"version":"v2",
	"resources":[{"resource":"scalers","responseKind":{"kind":"Scaler"},"scope":"Namespaced","verbs":["list"]}]}]}]}`

func TestKindsAreKeptBetweenRuns(t *testing.T) {
	s := &tagging{kinds: otherKinds, tag: `"one"`}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	dir := filepath.Join(t.TempDir(), "a", "b")
	for i, want := range []int{http.StatusOK, http.StatusNotModified, http.StatusNotModified} {
		if code := s.run(t, server, dir, "HorizontalPodAutoscaler"); code != want {
			t.Errorf("run %d is answered by %d, want %d", i, code, want)
		}
	}
	s.kinds, s.tag = otherScaler, `"two"`
	for i, want := range []int{http.StatusOK, http.StatusNotModified} {
		if code := s.run(t, server, dir, "Scaler"); code != want {
			t.Errorf("after a change run %d is answered by %d, want %d", i, code, want)
		}
	}
}

// A damaged file is ignored, and so is an error of writing one.
func TestKindsThatCannotBeKept(t *testing.T) {
	s := &tagging{kinds: otherKinds, tag: `"one"`}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	s.run(t, server, dir, "HorizontalPodAutoscaler")
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("kept in %v, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	sound, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	changed := append([]byte{}, sound...)
	changed[len(changed)-3] ^= 1
	for _, damaged := range [][]byte{nil, sound[:len(sound)/2], changed, []byte("muster: kinds " +
		"of a server, 0\n" + string(sound)), []byte("{}")} {
		if err := os.WriteFile(files[0], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if code := s.run(t, server, dir, "HorizontalPodAutoscaler"); code != http.StatusOK {
			t.Errorf("a damaged file (%.40q) is asked about: %d", damaged, code)
		}
	}
	for _, dir := range []string{files[0], "", "/dev/null/x"} {
		for range 2 {
			if code := s.run(t, server, dir, "HorizontalPodAutoscaler"); code != http.StatusOK {
				t.Errorf("%q keeps something: %d", dir, code)
			}
		}
	}
}

func TestOldKindsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, kindFiles.prefix+name) }
	old, young := in("old"), in("young")
	foreign := filepath.Join(dir, "foreign")
	long := time.Now().Add(-2 * oldest)
	for file, at := range map[string]time.Time{old: long, young: time.Now(), foreign: long} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := kindFiles.store(in("new"), cachedAnswer{tag: "t"}); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]bool{old: false, young: true, foreign: true} {
		if _, err := os.Stat(file); (err == nil) != want {
			t.Errorf("%s: %v", file, err)
		}
	}
}
