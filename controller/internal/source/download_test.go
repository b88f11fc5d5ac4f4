package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
)

// counting is a transport that counts the bytes of answers that are read.
type counting struct{ read *int64 }

func (c counting) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		answer.Body = &countedBody{answer.Body, c.read}
	}
	return answer, err
}

// countedBody is an answer whose bytes are counted.
type countedBody struct {
	io.ReadCloser
	read *int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	*b.read += int64(n)
	return n, err
}

// TestLargeArtifact: 300 MB are refused by what the status or the server says, or else as soon as
// the limit is reached.
func TestLargeArtifact(t *testing.T) {
	const size, limit = 300 << 20, 1 << 20
	f, cluster := newFetcher(t)
	f.Limit = limit
	url, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/announced" {
			w.Header().Set("Content-Length", strconv.Itoa(size))
		}
		part := make([]byte, 64<<10)
		for range size / len(part) {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	})
	sum := digest.FromString("any")
	read := int64(0)
	f.HTTP = &http.Client{Transport: counting{&read}}
	for path, most := range map[string]int64{"/announced": 0, "/counted": limit + 1} {
		read = 0
		cluster.put("shop", artifactAt(url+path, sum, ""))
		checkError(t, f, fromArtifact(""), true,
			"the files of GitRepository shop have more than 1 MiB, which is the limit of the controller")
		if read != most {
			t.Errorf("%s: %d bytes were read, want %d", path, read, most)
		}
	}
	before := requests.Load()
	cluster.put("shop", repositoryOf(map[string]any{"artifact": map[string]any{
		"url": url, "digest": sum.String(), "size": int64(size),
	}}))
	checkError(t, f, fromArtifact(""), true, "have more than 1 MiB")
	if requests.Load() != before {
		t.Error("an archive that is too large by its status was asked for")
	}
}

// TestWrongDigest: an archive with another content is refused, and its address has no credentials
// in errors.
func TestWrongDigest(t *testing.T) {
	f, cluster := newFetcher(t)
	body := pack(t, "web.yaml=x")
	url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
	url = strings.Replace(url, "http://", "http://user:"+secret+"@", 1) + "/a?token=" + secret
	cluster.put("shop", artifactAt(url, digest.FromString("other"), ""))
	checkError(t, f, fromArtifact(""), true,
		"GitRepository team-a/shop: the archive at http://127.0.0.1:",
		"/a has the digest "+digest.FromBytes(body).String())
}

// TestServerErrors: what may be gone the next time is not invalid.
func TestServerErrors(t *testing.T) {
	f, cluster := newFetcher(t)
	body := pack(t, "web.yaml=x")
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gone":
			http.Error(w, secret, http.StatusNotFound)
		case "/cut":
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body[:10])
		case "/scheme":
			http.Redirect(w, r, secure.URL+"/?token="+secret, http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop?token="+secret, http.StatusFound)
		case "/moved":
			http.Redirect(w, r, "/found", http.StatusFound)
		case "/found":
			_, _ = w.Write(body)
		}
	})
	for path, want := range map[string]string{
		"/gone":   "the server answered 404 Not Found",
		"/cut":    "unexpected EOF",
		"/scheme": "it redirects from http to https",
		"/loop":   "it redirects more than 10 times",
	} {
		cluster.put("shop", artifactAt(url+path+"?token="+secret, digest.FromBytes(body), ""))
		checkError(t, f, fromArtifact(""), false, "team-a/shop: fetch "+url+path+": ", want)
	}
	cluster.put("shop", artifactAt(url+"/moved", digest.FromBytes(body), ""))
	checkFetch(t, f, fromArtifact(""), "GitRepository shop", map[string]string{"web.yaml": "x"})
	closed := httptest.NewServer(nil)
	closed.Close()
	cluster.put("shop", artifactAt(closed.URL, digest.FromString("x"), ""))
	_, err := f.Fetch(t.Context(), fromArtifact(""))
	checkText(t, err, false, "fetch "+closed.URL+": dial tcp")
}

// TestCanceledDownload: an archive that nobody waits for any more leaves no files.
func TestCanceledDownload(t *testing.T) {
	f, cluster := newFetcher(t)
	ctx, cancel := context.WithCancel(t.Context())
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "part")
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	})
	cluster.put("shop", artifactAt(url, digest.FromString("x"), ""))
	_, err := f.Fetch(ctx, fromArtifact(""))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	checkEmpty(t, f)
}
