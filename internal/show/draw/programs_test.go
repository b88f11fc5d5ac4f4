package draw

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/testing/browser"
)

// hostile returns a graph with a cycle whose names have what each language reads as its own.
func hostile() Graph {
	g := Graph{Title: "a \"title\": [x] {y} \\ # --- %% ü → 🙂 </script><script>bad()</script>"}
	for _, name := range []string{
		`a "quoted" name`, `it's`, "dots.in.a.name", "größe/日本語/🙂", "<script>bad()</script>",
		"end", "a;b|c%%d", `back\slash\`, "#35; &amp; &", "[x](y) {z} ((w))", "`code`", "-->", "click",
		"new\nline", "", "http://example.com/", "* **bold** _it_", "1. list", "subgraph x", "@{shape: x}",
	} {
		g.Nodes = append(g.Nodes, Node{Name: name, Removed: len(g.Nodes)%5 == 4})
		if i := len(g.Nodes) - 1; i > 0 {
			g.Edges = append(g.Edges, Edge{From: i, To: i - 1, Label: name})
		}
	}
	g.Nodes = append(g.Nodes, Node{Name: "all of these", Join: true})
	g.Edges = append(g.Edges, Edge{From: 0, To: 3, Label: "back"})
	return g
}

// shown returns a name as drawings show it: on one line, without space around it.
func shown(name string) string { return strings.Join(strings.Fields(name), " ") }

// Graphviz draws the DOT of a graph, with its names.
func TestGraphviz(t *testing.T) {
	cmd := exec.Command(browser.Program(t, "dot"), "-Tplain")
	cmd.Stdin = strings.NewReader(DOT(hostile()))
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "Warning") {
		t.Fatalf("%v: %s", err, out)
	}
	for _, n := range hostile().Nodes {
		name := strings.NewReplacer(`"`, `\"`, "\n", `\n`, `\`, `\\`).Replace(n.Name)
		if !strings.Contains(string(out), name) {
			t.Errorf("%q is not in %s", name, out)
		}
	}
}

// Mermaid draws a graph, with its names, and runs nothing in them.
func TestMermaid(t *testing.T) {
	var names []string
	for _, n := range hostile().Nodes {
		names = append(names, shown(n.Name))
	}
	data, err := json.Marshal(map[string]any{"text": Mermaid(hostile()), "names": names})
	if err != nil {
		t.Fatal(err)
	}
	page := `<!DOCTYPE html><meta charset="utf-8"><title>x</title>` + browser.Catcher +
		"<script>" + browser.Mermaid.Text(t) + "</script><body><script>" +
		"window.bad = () => problems.push('a script of a name was run');\nconst data = " +
		string(data) + `;
mermaid.initialize({ startOnLoad: false });
report(mermaid.render("graph", data.text).then(({ svg }) => {
  document.body.innerHTML = svg;
  const nodes = Array.from(document.querySelectorAll(".node .nodeLabel"), (n) =>
    n.textContent.trim().replace(/\s+/g, " "));
  for (const name of data.names) {
    if (!nodes.includes(name)) problems.push("no node is " + name + " but " + nodes.join(" , "));
  }
  if (nodes.length !== data.names.length) problems.push("the graph has " + nodes.length + " nodes");
  const edges = document.querySelectorAll("path.flowchart-link").length;
  if (edges !== data.names.length - 1) problems.push("the graph has " + edges + " edges");
}));
</script>`
	browser.Check(t, page, browser.Windows["wide"])
}

// Chromium shows a drawing, alone and in a page, and neither is smaller than what it shows.
func TestDrawing(t *testing.T) {
	script := `<script>
for (const svg of document.querySelectorAll("svg")) {
  const boxes = Array.from(svg.querySelectorAll("rect"), (box) => box.getBBox());
  for (const [i, a] of boxes.entries()) {
    for (const b of boxes.slice(0, i)) {
      if (a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height) {
        problems.push("two boxes are in one place");
      }
    }
  }
  const all = svg.getBBox();
  if (all.x < 0 || all.y < 0 || all.x + all.width > svg.width.baseVal.value ||
    all.y + all.height > svg.height.baseVal.value) problems.push("a part is outside");
}
window.bad = () => problems.push("a script of a name was run");
report(Promise.resolve());
</script>`
	g := hostile()
	page := `<!DOCTYPE html><meta charset="utf-8"><title>x</title>` + browser.Catcher + "<body>" +
		SVG(g) + Inline(g) + script
	browser.Check(t, page, browser.Windows["wide"])
}
