package report

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// catcher is a script at the beginning of a page that collects errors.
const catcher = `<script>
window.problems = [];
addEventListener("error", (event) => problems.push(event.message));
addEventListener("securitypolicyviolation", (event) => problems.push("blocked " + event.blockedURI));
</script>`

// probe is a script at the end of a page that uses it as people do, and writes what it found.
const probe = `<script>
const check = (ok, text) => { if (!ok) problems.push(text); };
const rows = Array.from(document.querySelectorAll("ul.objects > li"));
const seen = () => rows.filter((row) => row.getClientRects().length > 0).length;
const type = (text) => {
  const box = document.getElementById("filter");
  box.value = text;
  box.dispatchEvent(new Event("input"));
};
check(rows.length === 3000 && seen() === 3000, "rows: " + seen() + " of " + rows.length);
type("deployment d2999");
check(seen() === 1, "the filter leaves " + seen());
check(document.getElementById("shown").textContent === "1 of 3000 objects", "the count");
document.getElementById("unfold").click();
check(document.querySelectorAll("ul.objects details[open]").length === 1, "unfold all shown");
document.getElementById("fold").click();
check(document.querySelectorAll("ul.objects details[open]").length === 0, "fold all shown");
document.getElementById("filter").dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
check(seen() === 3000, "escape clears the filter");
const state = document.getElementById("state");
state.value = "timed out";
state.dispatchEvent(new Event("change"));
check(seen() === 300, "the state leaves " + seen());
state.value = "";
state.dispatchEvent(new Event("change"));
const summary = rows[7].querySelector("summary");
summary.focus();
check(document.activeElement === summary, "a fold takes the focus of the keyboard");
summary.click();
check(rows[7].querySelector("details").open, "a fold opens");
check(document.documentElement.scrollWidth <= innerWidth, "the page is wider than the window: " +
  document.documentElement.scrollWidth + " of " + innerWidth);
for (const field of document.querySelectorAll("input, select")) {
  check(field.labels.length === 1, field.id + " has no label");
}
for (const link of document.querySelectorAll("a[href]")) {
  const to = link.getAttribute("href");
  check(to.startsWith("#") && document.getElementById(to.slice(1)), "the link " + to + " leads nowhere");
}
check(document.querySelectorAll("main, header, nav").length === 3, "landmarks");
check(performance.getEntriesByType("resource").length === 0, "the page loads something");
document.title = "checked: " + problems.join("; ");
</script></body>`

// TestBrowser uses a page with 3,000 objects in Chromium, in a wide window and in one of a phone.
func TestBrowser(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed; apt-get install chromium installs it")
	}
	text := page(readLarge(t))
	text = strings.Replace(text, "<style>", catcher+"<style>", 1)
	text = strings.Replace(text, "</body>", probe, 1)
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]string{"wide": "1280,900", "phone": "500,900"} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
				"--enable-logging=stderr", "--virtual-time-budget=20000", "--window-size="+size,
				"--user-data-dir="+t.TempDir(), "file://"+path)
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
		})
	}
}
