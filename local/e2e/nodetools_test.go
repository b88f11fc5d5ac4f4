package e2e

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/muster-deploy/muster/local/plane"
)

const (
	// toolsPage is the page that has the table of the tools, between two comments.
	toolsPage = "comparison.md"
	// toolsLimit is for how many seconds the tools wait.
	toolsLimit = 30
)

// nodeComparison is what is compared: tools, in columns, and cases, in lines.
type nodeComparison struct {
	Tools []nodeTool
	Cases []struct {
		Name  string // of a case in node.yaml
		Cause string // regular expression for what names the cause
	}
}

// nodeTool is a tool that applies a workload and waits until it is ready.
type nodeTool struct {
	Name    string
	Version string // lines for sh that print the version, if any
	Run     string // lines for sh
}

// TestNodeTools applies workloads on a node that runs containers with muster and with other tools,
// and prints a table of who says ready, when, and with which cause; with -update-docs into the
// documentation. What is compared is in testdata/nodetools.yaml. The answers of others are no
// failures.
func TestNodeTools(t *testing.T) {
	requireNode(t)
	for _, name := range []string{"helm", "kapp", "kapply"} {
		if found, err := hasTool(name); err != nil {
			t.Fatal(err)
		} else if !found {
			t.Skipf("%s is not in bin/tools: run \"make build-tools\"", name)
		}
	}
	t.Setenv("PATH", filepath.Join(bin, "tools")+string(os.PathListSeparator)+os.Getenv("PATH"))
	var compared nodeComparison
	readData(t, "testdata/nodetools.yaml", &compared)
	var all []nodeCase
	readData(t, "testdata/node/basic.yaml", &all)
	p := startNode(t)
	rows := make([][]string, len(compared.Cases))
	turn := make(chan struct{}, nodeCases)
	t.Run("cases", func(t *testing.T) {
		for i, row := range compared.Cases {
			at := slices.IndexFunc(all, func(c nodeCase) bool { return c.Name == row.Name })
			if at < 0 {
				t.Fatalf("there is no case %q in node.yaml", row.Name)
			}
			rows[i] = make([]string, len(compared.Tools))
			for k, tool := range compared.Tools {
				t.Run(row.Name+"/"+tool.Name, func(t *testing.T) {
					t.Parallel()
					turn <- struct{}{}
					defer func() { <-turn }()
					out, code := all[at].runTool(t, p, tool, fmt.Sprintf("case-%d-%d", i, k))
					t.Logf("it prints:\n%s", out)
					rows[i][k] = verdict(out, code, all[at].Exit, row.Cause)
				})
			}
		}
	})
	for i := range compared.Tools {
		compared.Tools[i].addVersion(t)
	}
	table := compared.table(rows)
	fmt.Println(table)
	if *updateDocs && !t.Failed() {
		writeTable(t, filepath.Join("..", "..", "docs", toolsPage), table)
	}
}

// addVersion adds the version of a tool to its name.
func (n *nodeTool) addVersion(t *testing.T) {
	t.Helper()
	out, err := exec.Command("sh", "-c", n.Version).Output()
	if err != nil {
		t.Fatalf("the version of %s: %v", n.Name, err)
	}
	if version := regexp.MustCompile(`\d+\.\d+\.\d+`).Find(out); version != nil {
		n.Name += " " + string(version)
	}
}

// runTool applies a case by a tool in a new namespace.
func (c nodeCase) runTool(t *testing.T, p *plane.Plane, tool nodeTool, namespace string) (printed,
	int) {
	dir := t.TempDir()
	kubeconfig := writeNamespaceConfig(t, dir, p.Kubeconfig(), namespace)
	env := append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+dir,
		"FILE="+filepath.Join(dir, "set", "web.yaml"), "FOLDER="+filepath.Join(dir, "set"),
		"CHART="+filepath.Join(dir, "chart"), "KIND="+cmp.Or(c.Kind, "Deployment"))
	sh := func(lines string) (printed, int) {
		cmd := exec.Command("sh", "-c", lines)
		cmd.Env = env
		return runTimed(t, cmd)
	}
	if out, code := sh("kubectl create namespace " + namespace + " && kubectl wait " +
		"--for=create serviceaccount/default --timeout=30s"); code != 0 {
		t.Fatalf("create a namespace: exit code %d:\n%s", code, out)
	}
	defer sh("kubectl delete namespace --wait=false " + namespace)
	if c.Before != nil {
		writeForms(t, dir, c.workload(namespace, c.Before))
		if out, code := sh(tool.Run); code != 0 {
			t.Fatalf("the first apply ended with exit code %d:\n%s", code, out)
		}
	}
	writeForms(t, dir, c.workload(namespace, c.Pod))
	return sh(tool.Run)
}

// writeNamespaceConfig writes a kubeconfig with another namespace, and returns its path.
func writeNamespaceConfig(t *testing.T, dir, kubeconfig, namespace string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.Contexts[config.CurrentContext].Namespace = namespace
	path := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// writeForms writes a manifest to a folder of its own, and a chart of it.
func writeForms(t *testing.T, dir string, manifest []byte) {
	t.Helper()
	for name, content := range map[string][]byte{
		"set/web.yaml":             manifest,
		"chart/templates/web.yaml": manifest,
		"chart/Chart.yaml":         []byte("{apiVersion: v2, name: web, version: 1.0.0}\n"),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// verdict returns what a tool says: whether the workload is ready, after how many seconds, and the
// cause, with the second in which it was printed. What is wrong is bold.
func verdict(out printed, code, want int, cause string) string {
	end := out[len(out)-1].at
	said := map[bool]string{true: "ready", false: "failed"}[code == 0]
	if code != 0 && end > toolsLimit-1 {
		said = "gave up"
	}
	said = fmt.Sprintf("%s, %.0f s", said, end)
	if (code == 0) != (want == 0) {
		said = "**" + said + "**"
	}
	if cause == "" {
		return said
	}
	var found []string
	var first float64
	for _, line := range out[:len(out)-1] { // the last one has the exit code
		for _, match := range regexp.MustCompile(cause).FindAllString(line.text, -1) {
			if len(found) == 0 {
				first = line.at
			}
			if match = "`" + match + "`"; !slices.Contains(found, match) {
				found = append(found, match)
			}
		}
	}
	if len(found) == 0 {
		return said + "; no cause"
	}
	return fmt.Sprintf("%s; %s, %.0f s", said, strings.Join(found, ", "), first)
}

// table returns the table in Markdown.
func (n nodeComparison) table(rows [][]string) string {
	lines := [][]string{{""}, {"---"}}
	for _, tool := range n.Tools {
		lines[0], lines[1] = append(lines[0], tool.Name), append(lines[1], "---")
	}
	for i, row := range n.Cases {
		lines = append(lines, append([]string{row.Name}, rows[i]...))
	}
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(line, " | "))
	}
	return b.String()
}

// writeTable replaces what is between the comments "tools" and "end of tools" of a page.
func writeTable(t *testing.T, page, table string) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- tools -->\n", "<!-- end of tools -->\n"
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", page)
	}
	if err := os.WriteFile(page, []byte(before+begin+table+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
