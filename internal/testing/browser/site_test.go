package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// visitor is a page that opens all pages of a site in a frame, one after the other, and then
// reports the problems of all. A page is audited if it has an element, by tag and class, that none
// of the pages before has: an audit takes as long as many pages.
const visitor = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">
<meta name="color-scheme" content="light dark"><title>visitor</title>` + Catcher + `
<style>body { margin: 0; } iframe { border: 0; display: block; }</style></head><body>
<iframe width="%d" height="%d"></iframe><script>
const frame = document.querySelector("iframe");
const pages = %s;
const ids = new Map(), links = [], shapes = new Set();
const hasNewShape = (document) => {
  const before = shapes.size;
  for (const element of document.body.querySelectorAll("*")) {
    shapes.add(element.tagName + "." + element.className);
  }
  return shapes.size > before;
};
const visit = async (path) => {
  await new Promise((loaded) => { frame.onload = loaded; frame.src = path; });
  const page = frame.contentWindow;
  await page.checked;
  if (hasNewShape(page.document)) await page.audit();
  for (const problem of page.problems) problems.push(path + ": " + problem);
  ids.set(page.location.pathname, new Set(Array.from(page.document.querySelectorAll("[id]"),
    (element) => "#" + element.id)));
  for (const link of page.document.querySelectorAll("a[href]")) links.push([path, link.href]);
};
const follow = () => {
  for (const [path, link] of links) {
    const to = new URL(link);
    if (to.origin !== location.origin) continue; // it leaves the site; nobody follows it here
    const found = ids.get(to.pathname);
    const leads = found && (to.hash === "" || found.has(decodeURIComponent(to.hash)));
    if (!leads) problems.push(path + ": no page " + link);
  }
  if (links.length === 0) problems.push("there are no links");
};
report((async () => { for (const path of pages) await visit(path); follow(); })());
</script></body></html>`

// visited is the end of a page: what its scripts check once it is loaded.
const visited = `<script>
const check = (ok, text) => { if (!ok) problems.push(text); };
const tryMenu = () => {
  const label = document.querySelector("nav label"), list = document.querySelector("nav div");
  const shown = () => list.getClientRects().length > 0;
  if (label.getClientRects().length === 0) return check(shown(), "the menu is hidden");
  check(!shown(), "the menu covers the page");
  label.click();
  check(shown(), "the menu does not open");
  check(list.querySelector("a[aria-current=page]") !== null, "the menu does not mark the page");
  label.click();
  check(!shown(), "the menu does not close");
};
const tryFolds = () => {
  for (const fold of document.querySelectorAll("details:not([open])")) {
    fold.querySelector("summary").click();
    check(fold.open, "a fold does not open");
  }
};
window.checked = (async () => {
  await new Promise((loaded) => addEventListener("load", loaded));
  check(document.documentElement.scrollWidth <= innerWidth, "it is wider than the window: " +
    document.documentElement.scrollWidth + " of " + innerWidth);
  for (const image of document.images) {
    check(image.complete && image.naturalWidth > 0, "no picture " + image.src);
    check(image.alt !== "", "a picture without a text " + image.src);
  }
  for (const text of document.querySelectorAll("main p, main li, main code, main td")) {
    const size = parseFloat(getComputedStyle(text).fontSize);
    check(size >= 12, "a text of " + size + " pixels: " + text.textContent.slice(0, 40));
  }
  tryMenu();
  tryFolds();
})().catch((e) => problems.push(String(e)));
window.audit = async () => {
  const script = document.createElement("script");
  await new Promise((loaded, failed) => {
    script.onload = loaded;
    script.onerror = failed;
    script.src = "/axe.js";
    document.head.append(script);
  });
  await ` + AxeCheck + `;
};
</script></body>`

// TestSite opens every page of the documentation in Chromium, wide and as on a phone, light and
// dark: without an error or a request to elsewhere, no wider than the window, with links that lead
// somewhere, and accessible by the rules of WCAG.
func TestSite(t *testing.T) {
	axe := Axe.Text(t)
	site, pages := buildSite(t)
	list, err := json.Marshal(pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"wide", "phone-dark"} {
		t.Run(name, func(t *testing.T) {
			w := Windows[name]
			mux := http.NewServeMux()
			mux.HandleFunc("/{$}", func(out http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(out, visitor, w.Width, w.Height, list)
			})
			mux.HandleFunc("/axe.js", func(out http.ResponseWriter, _ *http.Request) {
				out.Header().Set("Content-Type", "text/javascript")
				fmt.Fprint(out, axe)
			})
			mux.Handle("/", withChecks(site))
			Visit(t, mux, w)
		})
	}
}

// buildSite builds the site, and returns it with the paths of its pages.
func buildSite(t *testing.T) (site fs.FS, pages []string) {
	t.Helper()
	folder := t.TempDir()
	build := exec.Command("go", "run", "./site", "-out", folder)
	build.Dir = filepath.Join("..", "..", "..", "local")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the site: %v: %s", err, out)
	}
	site = os.DirFS(folder)
	err := fs.WalkDir(site, ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".html" {
			pages = append(pages, "/"+name)
		}
		return err
	})
	if err != nil || len(pages) < 30 {
		t.Fatalf("the site has %d pages: %v", len(pages), err)
	}
	return site, pages
}

// policy lets a page load what is on the site, and nothing else.
const policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; " +
	"script-src 'self' 'unsafe-inline'"

// withChecks returns a site whose pages check themselves.
func withChecks(site fs.FS) http.Handler {
	files := http.FileServerFS(site)
	head := []byte(Catcher + "</head>")
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if path.Ext(r.URL.Path) != ".html" {
			files.ServeHTTP(out, r)
			return
		}
		text, err := fs.ReadFile(site, strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil {
			http.NotFound(out, r)
			return
		}
		out.Header().Set("Content-Security-Policy", policy)
		text = bytes.Replace(text, []byte("</head>"), head, 1)
		_, _ = out.Write(bytes.Replace(text, []byte("</body>"), []byte(visited), 1))
	})
}
