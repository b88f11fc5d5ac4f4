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
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
	Width, Height string // pixels
	Dark          bool
}

// The windows in which pages are tested: wide and narrow, light and dark.
var Windows = map[string]Window{
	"wide":       {"1280", "900", false},
	"wide-dark":  {"1280", "900", true},
	"phone":      {"500", "900", false},
	"phone-dark": {"500", "900", true},
}

// Catcher is a script for the beginning of a page. It collects errors in the variable problems, and
// provides the function report, which waits for a promise and ends the test of the page.
const Catcher = `<script>
window.problems = [];
addEventListener("error", (event) => problems.push(event.message));
addEventListener("unhandledrejection", (event) => problems.push(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => problems.push("blocked " + event.blockedURI));
window.report = (promise) => promise.catch((e) => problems.push(String(e))).then(() => {
  document.title = "checked: " + problems.join("; ");
});
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

// Check opens a page whose scripts call report, and fails the test if they found problems.
func Check(t *testing.T, page string, w Window) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	scheme := "1" // light
	if w.Dark {
		scheme = "0"
	}
	cmd := exec.Command(Program(t, "chromium"), "--headless", "--no-sandbox", "--disable-gpu",
		"--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--dump-dom", "--enable-logging=stderr",
		"--blink-settings=preferredColorScheme="+scheme, "--virtual-time-budget=20000",
		"--window-size="+w.Width+","+w.Height, "--user-data-dir="+t.TempDir(), "file://"+path)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, log.String())
	}
	_, title, _ := strings.Cut(out.String(), "<title>")
	if title, _, _ = strings.Cut(title, "</title>"); title != "checked: " {
		t.Errorf("the page says %q", title)
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, ":CONSOLE") {
			t.Errorf("the console has a message: %s", line)
		}
	}
}
