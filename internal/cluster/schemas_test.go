package cluster

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// describing is a server with OpenAPI documents: their fields by path, "" for one that fails.
type describing struct {
	fields map[string]string
	denied bool

	mu    sync.Mutex
	asked []string // paths
}

func (s *describing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.Path)
	s.mu.Unlock()
	if s.denied {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	if r.URL.Path == openAPIPath {
		var paths []string
		for path, field := range s.fields {
			paths = append(paths, fmt.Sprintf(`%q:{"serverRelativeURL":"/openapi/v3/%[1]s?hash=%[2]s"}`,
				path, field))
		}
		fmt.Fprintf(w, `{"paths":{%s}}`, strings.Join(paths, ","))
		return
	}
	path := strings.TrimPrefix(r.URL.Path, openAPIPath+"/")
	if s.fields[path] == "" {
		http.Error(w, "broken", http.StatusForbidden)
		return
	}
	parts := strings.Split(strings.TrimPrefix(path, "apis/"), "/")
	fmt.Fprintf(w, `{"components":{"schemas":{"a":{"type":"object","properties":{%q:{}},
		"x-kubernetes-group-version-kind":[{"group":%q,"version":%q,"kind":"Boat"}]}}}}`,
		s.fields[path], strings.TrimSuffix(parts[0], "api"), parts[1])
}

var boats, core = schema.GroupVersion{Group: "example.com", Version: "v1"},
	schema.GroupVersion{Version: "v1"}

// expect reads the schemas of versions, and compares the fields that they do not know of an object
// with every field, and the paths that the server was asked for.
func (s *describing) expect(
	t *testing.T, c *Client, want string, asked []string, versions ...schema.GroupVersion,
) {
	t.Helper()
	s.asked = nil
	documents, err := c.Schemas(t.Context(), versions)
	var got []string
	for _, gv := range versions {
		if documents[gv] == nil {
			got = append(got, "none")
			continue
		}
		problems, _ := documents[gv].Check("Boat", map[string]any{"one": true, "two": true})
		for _, p := range problems {
			got = append(got, p.Path)
		}
	}
	if err != nil {
		got = append(got, "error")
	}
	slices.Sort(s.asked)
	if text := strings.Join(got, " "); text != want || !slices.Equal(s.asked, asked) {
		t.Errorf("got %q, want %q; the server was asked for %q, want %q; %v", text, want, s.asked,
			asked, err)
	}
}

func newClient(t *testing.T, server *httptest.Server, dir string) *Client {
	t.Helper()
	c, err := New(&rest.Config{Host: server.URL}, Options{CacheDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSchemasAreKeptByTheirHash(t *testing.T) {
	s := &describing{fields: map[string]string{"apis/example.com/v1": "one", "api/v1": "two"}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	dir := filepath.Join(t.TempDir(), "a")
	index, both := []string{openAPIPath}, []string{
		openAPIPath, openAPIPath + "/api/v1", openAPIPath + "/apis/example.com/v1",
	}
	c := newClient(t, server, dir)
	s.expect(t, c, "", nil)
	s.expect(t, c, "two one", both, boats, core)
	s.expect(t, c, "two one", index, boats, core)
	c = newClient(t, server, dir) // another run
	s.expect(t, c, "two one", index, boats, core)
	s.fields["apis/example.com/v1"] = "two"
	s.expect(t, c, "one one", []string{openAPIPath, openAPIPath + "/apis/example.com/v1"}, boats, core)
	s.expect(t, newClient(t, server, dir), "one", index, boats)
	s.expect(t, newClient(t, server, ""), "one", []string{
		openAPIPath, openAPIPath + "/apis/example.com/v1",
	}, boats)
	files, err := filepath.Glob(filepath.Join(dir, "fields-*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("files: %q, %v", files, err)
	}
	for _, file := range files { // damaged, so that they are read again
		if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.expect(t, newClient(t, server, dir), "one one", both, boats, core)
	s.expect(t, newClient(t, server, dir), "one one", index, boats, core)
}

func TestSchemasThatCannotBeRead(t *testing.T) {
	s := &describing{fields: map[string]string{"apis/example.com/v1": "", "api/v1": "two"}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c := newClient(t, server, t.TempDir())
	s.expect(t, c, "none one error", []string{
		openAPIPath, openAPIPath + "/api/v1", openAPIPath + "/apis/example.com/v1",
	}, boats, core)
	s.expect(t, c, "none", []string{openAPIPath}, schema.GroupVersion{Group: "other", Version: "v1"})
	s.denied = true
	s.expect(t, c, "none error", []string{openAPIPath}, core)
}
