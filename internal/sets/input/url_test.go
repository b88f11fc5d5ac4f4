package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAddress(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a.yml", "/used":
			if r.URL.Path == "/used" {
				w.WriteHeader(http.StatusIMUsed)
			}
			fmt.Fprint(w, configMap)
		case "/moved":
			http.Redirect(w, r, "/a.yml", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		case "/cut":
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, configMap)
		case "/page":
			fmt.Fprint(w, "<html>not found</html>")
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	for path, want := range map[string]string{
		"/a.yml": "HTTP URL 'URL/a.yml' doc 1: configmap/a (v1) cluster",
		"/moved": "HTTP URL 'URL/moved' doc 1: configmap/a (v1) cluster",
		"/used":  "HTTP URL 'URL/used' doc 1: configmap/a (v1) cluster",
		"/none":  "Requesting URL 'URL/none': 404 Not Found",
		"/round": `Requesting URL 'URL/round': Get "/round": it redirects more than 10 times`,
		"/cut":   "Reading URL 'URL/cut': unexpected EOF",
		"/page": "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string " +
			"into Go value of type map[string]interface {} (HTTP URL 'URL/page' doc 1)",
	} {
		expect(t, Options{}, server.URL+path, strings.ReplaceAll(want, "URL/", server.URL+"/"))
	}
	host := strings.TrimPrefix(server.URL, "http://")
	expect(t, Options{}, "http://me:secret@"+host+"/none", "Requesting URL 'http://me:xxxxx@"+host+
		"/none': 404 Not Found")
	expect(t, Options{}, "http://me:secret@"+host+"/a.yml", "HTTP URL 'http://me:xxxxx@"+host+
		"/a.yml' doc 1: configmap/a (v1) cluster")
}

// TestRedirects follows no redirect from https to http: what answers there is anybody.
func TestRedirects(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was asked for", r.URL)
	}))
	defer plain.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain.URL+"/a.yml", http.StatusFound)
	}))
	defer secure.Close()
	_, err := Options{Client: secure.Client()}.Fetch(t.Context(), secure.URL+"/a.yml")
	if err == nil || !strings.Contains(err.Error(), "it redirects from https to http") {
		t.Errorf("error %v", err)
	}
}

func TestAddressThatDoesNotAnswer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.URL
	server.Close()
	_, err := Load(t.Context(), Options{Files: []string{address + "/a.yml"}})
	if err == nil || !strings.HasPrefix(err.Error(), "Requesting URL '"+address+"/a.yml': ") ||
		!strings.Contains(err.Error(), "refused") {
		t.Errorf("Load = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Load(ctx, Options{Files: []string{address}}); !errors.Is(err, context.Canceled) {
		t.Errorf("Load after an interrupt = %v", err)
	}
	expect(t, Options{}, "http://[::1",
		`Requesting URL 'http://[::1': parse "http://[::1": missing ']' in host`)
}

func TestAddressThatIsSilent(t *testing.T) {
	server := httptest.NewServer(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	expect(t, Options{IdleTimeout: time.Millisecond}, server.URL+"/a.yml",
		"Requesting URL '"+server.URL+"/a.yml': nothing came for 1ms "+
			"(hint: if a proxy is needed, name it in HTTPS_PROXY or HTTP_PROXY; or download it in another "+
			"way, and give the file)")
}

func TestAddressThatIsTooLarge(t *testing.T) {
	server := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, configMap) }))
	defer server.Close()
	expect(t, Options{MaxBytes: int64(len(configMap))}, server.URL,
		"HTTP URL '"+server.URL+"' doc 1: configmap/a (v1) cluster")
	expect(t, Options{MaxBytes: 20}, server.URL, "Reading URL '"+server.URL+
		"': it holds more than 20 bytes (hint: download it, and give the file)")
}

// slowly is a server that answers after a while, and then sends one byte after the other.
type slowly struct {
	answer time.Duration // until it answers
	pause  time.Duration // before each byte
	last   time.Duration // before the end
}

func (s slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := wait(r.Context(), s.answer); err != nil {
		return nil, err
	}
	body, to := io.Pipe()
	go func() {
		for i := range len(configMap) {
			if err := wait(r.Context(), s.pause); err != nil {
				to.CloseWithError(err)
				return
			}
			_, _ = io.WriteString(to, configMap[i:i+1])
		}
		to.CloseWithError(wait(r.Context(), s.last))
	}()
	return &http.Response{StatusCode: http.StatusOK, Body: body, Request: r}, nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestSlowAddress shows that silence counts, and not how long all of it takes. The clock is not
// the real one.
func TestSlowAddress(t *testing.T) {
	const silent = "nothing came for 30s (hint: "
	for name, c := range map[string]struct {
		slowly
		want string // how the error begins; empty for none
	}{
		"slow":                {slowly{29 * time.Second, 29 * time.Second, 29 * time.Second}, ""},
		"no answer":           {slowly{answer: time.Hour}, "Requesting URL 'http://h/a': " + silent},
		"stops in the middle": {slowly{pause: time.Hour}, "Reading URL 'http://h/a': " + silent},
		"never ends":          {slowly{last: time.Hour}, "Reading URL 'http://h/a': " + silent},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all, err := Load(t.Context(),
					Options{Files: []string{"http://h/a"}, Client: &http.Client{Transport: c.slowly}})
				switch {
				case c.want == "" && (err != nil || len(all) != 1):
					t.Errorf("Load = %v, %v", all, err)
				case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
					t.Errorf("Load = %v, want %s…", err, c.want)
				}
			})
		})
	}
}

func TestInterruptedAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Load(ctx, Options{Files: []string{"http://h/a"},
			Client: &http.Client{Transport: slowly{pause: time.Hour}}})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Load = %v", err)
		}
	})
}

// TestURLTooLarge checks that an answer that declares too large a length is not read, and that
// others are read up to the limit of files.
func TestURLTooLarge(t *testing.T) {
	for _, declared := range []bool{true, false} {
		body := &blanks{left: 200 << 20}
		size := int64(-1)
		if declared {
			size = body.left
		}
		client := &http.Client{Transport: answer{body, size}}
		_, err := Options{Client: client}.Fetch(t.Context(), "https://x/cm.yaml")
		most := int64(51 << 20)
		if declared {
			most = 0
		}
		if err == nil || !strings.Contains(err.Error(), "more than 52428800 bytes") ||
			body.read > most {
			t.Errorf("declared %t: %d MiB were read, error %v", declared, body.read>>20, err)
		}
	}
}

// answer is a transport with one answer.
type answer struct {
	body *blanks
	size int64
}

// RoundTrip returns the answer.
func (a answer) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, ContentLength: a.size, Body: io.NopCloser(a.body),
	}, nil
}

// blanks are some bytes, which count how many were read.
type blanks struct{ left, read int64 }

// Read returns blanks.
func (b *blanks) Read(to []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(to)), b.left)
	for i := range to[:n] {
		to[i] = ' '
	}
	b.left -= n
	b.read += n
	return int(n), nil
}
