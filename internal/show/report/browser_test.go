package report

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/muster-deploy/muster/internal/testing/browser"
)

// probe is a script at the end of a page that uses it as people do, and writes what it found.
const probe = `<script>
const check = (ok, text) => { if (!ok) problems.push(text); };
const rows = Array.from(document.querySelectorAll("ul.objects > li"));
const choose = (id, value) => {
  const field = document.getElementById(id);
  field.value = value;
  field.dispatchEvent(new Event("change"));
};
const first = () => document.querySelector("ul.objects > li").dataset;
const seen = () => rows.filter((row) => row.getClientRects().length > 0).length;
const type = (text) => {
  const box = document.getElementById("filter");
  box.value = text;
  box.dispatchEvent(new Event("input"));
};
check(rows.length === 3000 && seen() === 3000, "rows: " + seen() + " of " + rows.length);
check(getComputedStyle(rows[0]).display === "block", "rows are numbered, so that a filter is slow");
type("deployment d2999");
check(seen() === 1, "the filter leaves " + seen());
check(document.getElementById("shown").textContent === "1 of 3000 objects", "the count");
document.getElementById("unfold").click();
check(document.querySelectorAll("ul.objects details[open]").length === 1, "unfold all shown");
document.getElementById("fold").click();
check(document.querySelectorAll("ul.objects details[open]").length === 0, "fold all shown");
document.getElementById("filter").dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
check(seen() === 3000, "escape clears the filter");
choose("state", "timed out");
check(seen() === 300, "the state leaves " + seen());
choose("state", "");
document.querySelector("ul.counts a[data-state=configured]").click();
check(seen() === 2700, "a count leaves " + seen());
choose("state", "");
check(first().state === "timed out", "what failed is not the first");
choose("order", "place");
check(first().place === "0", "the first is not that of the plan");
choose("order", "took");
check(first().took === "40", "the slowest is not the first");
choose("order", "rank");
check(document.querySelectorAll("#graph .node").length === 120, "nodes of the graph");
check(document.querySelectorAll("#graph .node.bad").length > 100, "nodes that failed");
check(document.querySelectorAll("#timeline svg a").length === 100, "bars of the timeline");
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
for (const part of document.querySelectorAll(".scroll")) {
  part.focus();
  check(document.activeElement === part, "a drawing cannot be scrolled with the keyboard");
}
for (const link of document.querySelectorAll("a[href]")) {
  const to = link.getAttribute("href");
  check(to.startsWith("#") && document.getElementById(to.slice(1)), "the link " + to + " leads nowhere");
}
check(document.querySelectorAll("main, header, nav").length === 3, "landmarks");
check(performance.getEntriesByType("resource").length === 0, "the page loads something");
report(Promise.resolve());
</script></body>`

// tour is a script at the end of the page of a run with failures: it reads the causes with their
// logs and the differences, and follows the links of causes and drawings.
const tour = `<script>
const check = (ok, text) => { if (!ok) problems.push(text); };
const shown = (element) => element !== null && element.checkVisibility();
const causes = Array.from(document.querySelectorAll("#causes article"));
check(causes.length > 1, "causes: " + causes.length);
check(causes.some((c) => shown(c.querySelector("pre.log"))), "no cause has a log");
check(causes.some((c) => c.textContent.includes("kubectl")), "no cause has a next command");
const changed = document.querySelector("pre.diff").closest("li");
check(!shown(changed.querySelector("pre.diff")), "differences are shown before they are unfolded");
changed.querySelector("summary").click();
check(shown(changed.querySelector("pre.diff .add")), "an unfolded object has no differences");
check(document.querySelectorAll("#graph .node.critical").length > 1, "no critical path in the graph");
check(document.querySelectorAll("#graph .edge.critical").length > 0, "no bold lines in the graph");
check(document.querySelectorAll("#timeline ol li").length > 1, "no list of the critical path");
check(document.querySelectorAll("#timeline rect.critical").length > 1, "no critical path in the bars");
const box = document.getElementById("filter");
const follow = async (path, from) => {
  box.value = "no object has this";
  box.dispatchEvent(new Event("input"));
  document.getElementById("fold").click();
  const link = document.querySelector(path), stays = link.getAttribute("href") === location.hash;
  const moved = new Promise((done) => addEventListener("hashchange", done, { once: true }));
  link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
  if (!stays) await moved;
  const row = document.getElementById(link.getAttribute("href").slice(1));
  check(shown(row.querySelector("details[open] > div")), from + " does not unfold its object");
  check(document.activeElement === row.querySelector("summary"), from + " does not focus its object");
};
report((async () => {
  await follow("#causes article a", "a cause");
  await follow("#causes article a", "a cause for the second time");
  await follow("#graph a", "the graph");
  await follow("#timeline svg a", "a bar of the timeline");
  await follow("#timeline ol a", "the critical path");
})());
</script></body>`

// audit is a script at the end of a page that checks its accessibility with everything unfolded.
const audit = `<script>
document.getElementById("unfold").click();
report(` + browser.AxeCheck + `);
</script></body>`

// TestBrowser uses a page with 3,000 objects in Chromium, in a wide window and in one of a phone.
func TestBrowser(t *testing.T) {
	for _, name := range []string{"wide", "phone"} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(page(readLarge(t)), "<style>", browser.Catcher+"<style>", 1)
			browser.Check(t, strings.Replace(text, "</body>", probe, 1), browser.Windows[name])
		})
	}
}

// TestTour uses the page of a run that failed, in a wide window and in one of a phone.
func TestTour(t *testing.T) {
	for _, name := range []string{"wide", "phone"} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(page(readArchive(t, "failed")), "<style>", browser.Catcher+"<style>", 1)
			browser.Check(t, strings.Replace(text, "</body>", tour, 1), browser.Windows[name])
		})
	}
}

// TestAccessible checks pages of the archives by the rules of WCAG, light and dark, wide and
// narrow.
func TestAccessible(t *testing.T) {
	head := browser.Catcher + "<script>" + browser.Axe.Text(t) + "</script><style>"
	for _, name := range []string{"failed", "plan"} {
		for window, w := range browser.Windows {
			if name == "plan" && window != "phone-dark" {
				continue // it looks like the other one
			}
			t.Run(name+"-"+window, func(t *testing.T) {
				text := strings.Replace(page(readArchive(t, name)), "<style>", head, 1)
				browser.Check(t, strings.Replace(text, "</body>", audit, 1), w)
			})
		}
	}
}

// readArchive reads the recording in an archive.
func readArchive(t *testing.T, name string) []*Run {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range archive.Files {
		if file.Name == "run.jsonl" || file.Name == "plan.json" {
			runs, err := Read(bytes.NewReader(file.Data))
			if err != nil {
				t.Fatal(err)
			}
			return runs
		}
	}
	t.Fatal("the archive has no recording")
	return nil
}
