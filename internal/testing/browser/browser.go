// Package browser opens pages in Chromium for tests, and provides the scripts of npm that check
// them.
//
// Chromium takes much time on a busy machine, so that these tests are skipped unless the variable
// MUSTER_TEST_TOOLS is "required", once "make tools" has installed the programs. Then a
// test fails that lacks one.
package browser

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Script is a file of a package of npm.
type Script struct {
	pkg, file string // with its version
	digest    string // SHA-256 of the file
}

// The scripts.
var (
	// Axe checks the accessibility of a page.
	Axe = Script{"axe-core@4.14.1", "axe.min.js",
		"29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"}
	// Mermaid reads and draws graphs.
	Mermaid = Script{"mermaid@11.17.2", "dist/mermaid.min.js",
		"581ed7d74bd9048d0e3a91363927d72ef22942d7722546b27f7cc29e35390eb8"}
)

// Program returns the path of a program. The test ends if there is none.
func Program(t *testing.T, name string) string {
	t.Helper()
	required(t)
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(name + " is not installed; 'make tools' installs it on Debian")
	}
	return path
}

// required ends the test unless it may use programs.
func required(t *testing.T) {
	t.Helper()
	if os.Getenv("MUSTER_TEST_TOOLS") != "required" {
		t.Skip("MUSTER_TEST_TOOLS=required runs the tests that use Chromium, Graphviz and npm")
	}
}

// Text returns the text of the script. It is kept in the cache of the user.
func (s Script) Text(t *testing.T) string {
	t.Helper()
	required(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	path := filepath.Join(cache, "muster-tests", s.digest+".js")
	if text, err := os.ReadFile(path); err == nil && s.matches(text) {
		return string(text)
	}
	text := s.fetch(t)
	if !s.matches(text) {
		t.Fatalf("%s of %s is not the file that the tests name", s.file, s.pkg)
	}
	if os.MkdirAll(filepath.Dir(path), 0o755) == nil {
		_ = os.WriteFile(path, text, 0o644) // the next test fetches it again
	}
	return string(text)
}

func (s Script) matches(text []byte) bool {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]) == s.digest
}

// fetch reads the file from the archive of its package.
func (s Script) fetch(t *testing.T) []byte {
	t.Helper()
	npm := Program(t, "npm")
	folder := t.TempDir()
	cmd := exec.Command(npm, "pack", "--silent", "--pack-destination", folder, s.pkg)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm does not provide %s: %v: %s", s.pkg, err, out)
	}
	archives, _ := filepath.Glob(filepath.Join(folder, "*.tgz")) // the pattern is valid
	if len(archives) != 1 {
		t.Fatalf("npm packed %d archives", len(archives))
	}
	packed, err := os.ReadFile(archives[0])
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(unpacked); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("%s has no file %s", s.pkg, s.file)
		} else if err != nil {
			t.Fatal(err)
		}
		if header.Name == "package/"+s.file {
			text, err := io.ReadAll(files)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
	}
}

// Window is how a page is seen.
type Window struct {
	Width, Height int // pixels
	Dark          bool
}

// The windows in which pages are tested: wide and narrow, light and dark.
var Windows = map[string]Window{
	"wide":       {1280, 900, false},
	"wide-dark":  {1280, 900, true},
	"phone":      {390, 844, false},
	"phone-dark": {390, 844, true},
}

// Catcher is a script for the beginning of a page. It collects errors in the variable problems, and
// provides the function report, which waits for a promise and ends the test of the page. A page in
// a frame reports through the one around it, since its policy may allow no request.
const Catcher = `<script>
window.problems = [];
addEventListener("error", (event) => problems.push(event.message));
addEventListener("unhandledrejection", (event) => problems.push(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => problems.push("blocked " + event.blockedURI));
window.send = (text) => fetch("/report", { method: "POST", body: text });
window.report = (promise) => promise.catch((e) => problems.push(String(e)))
  .then(() => parent.send(problems.join("; ")));
</script>`

// AxeCheck is a script that checks a page that has Axe: all rules of WCAG 2 of the levels A and AA.
const AxeCheck = `axe.run(document, { resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa",
  "wcag21a", "wcag21aa", "wcag22aa"] }).then((found) => {
  for (const v of found.violations) {
    problems.push(v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html + " " + n.any.concat(n.all)
      .map((c) => c.message).join(", ")).join("; "));
  }
  if (found.passes.length === 0) problems.push("axe checked nothing");
})`

// frameForm is a page that shows another one in a frame of a size. Chromium has no windows as
// narrow as phones; a frame of a page may be.
const frameForm = `<!DOCTYPE html><meta charset="utf-8">
<meta name="color-scheme" content="light dark"><style>body { margin: 0; }
iframe { border: 0; display: block; }</style>` + Catcher + `
<iframe width="%d" height="%d" src="/page"></iframe>`

// Check opens a page whose scripts call report, and fails the test if they found problems.
func Check(t *testing.T, page string, w Window) {
	t.Helper()
	pages := http.NewServeMux()
	pages.HandleFunc("/page", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(out, page)
	})
	pages.HandleFunc("/{$}", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(out, frameForm, w.Width, w.Height)
	})
	Visit(t, pages, w)
}

// reportTime is how long the report of a page is waited for: it ends only what would never end.
const reportTime = 5 * time.Minute

// Visit opens the first page of a site, whose scripts call report, and fails the test if they found
// problems, if the console has a message, or if a request was not answered.
func Visit(t *testing.T, site http.Handler, w Window) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), reportTime)
	defer stop()
	reports := make(chan string, 1)
	server := httptest.NewServer(answering(t, site, reports))
	defer server.Close()
	var log bytes.Buffer
	cmd := command(ctx, t, server.URL, w)
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case problems := <-reports:
		if problems != "" {
			t.Errorf("the page says %q", problems)
		}
	case <-ctx.Done():
		t.Error("the page reports nothing")
	}
	stop()
	_ = cmd.Wait() // it was ended by a signal
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, ":CONSOLE") {
			t.Errorf("the console has a message: %s", line)
		}
	}
}

// command returns the command that opens an address. It ends with the context.
func command(ctx context.Context, t *testing.T, address string, w Window) *exec.Cmd {
	t.Helper()
	scheme := "1" // light
	if w.Dark {
		scheme = "0"
	}
	width, height := strconv.Itoa(max(w.Width, leastWidth)), strconv.Itoa(w.Height)
	cmd := exec.CommandContext(ctx, Program(t, "chromium"), "--headless", "--no-sandbox",
		"--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--enable-logging=stderr",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
		"--blink-settings=preferredColorScheme="+scheme, "--remote-debugging-port=0",
		"--window-size="+width+","+height, "--user-data-dir="+t.TempDir(), address)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	return cmd
}

// leastWidth is the width of the narrowest window of Chromium.
const leastWidth = 500

// answering returns a site that fails the test if it does not have what is asked for, and that
// sends the report of its pages. A browser asks for an icon by itself.
func answering(t *testing.T, site http.Handler, reports chan<- string) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/favicon.ico":
			out.WriteHeader(http.StatusNoContent)
			return
		case "/report":
			text, err := io.ReadAll(r.Body)
			select {
			case reports <- strings.TrimSpace(string(text) + " " + errorText(err)):
			default: // the first report counts
			}
			return
		}
		recorded := httptest.NewRecorder()
		if site.ServeHTTP(recorded, r); recorded.Code >= http.StatusBadRequest {
			t.Errorf("%s %s: %d", r.Method, r.URL, recorded.Code)
		}
		maps.Copy(out.Header(), recorded.Header())
		out.WriteHeader(recorded.Code)
		_, _ = recorded.Body.WriteTo(out) // a browser that ends reads no more
	})
}

func errorText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}
