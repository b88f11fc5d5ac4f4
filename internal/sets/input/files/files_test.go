package files

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// write writes files, given as PATH, TEXT, …, into the working folder.
func write(t *testing.T, texts ...string) {
	t.Helper()
	for i := 0; i < len(texts); i += 2 {
		if err := os.MkdirAll(filepath.Dir(texts[i]), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(texts[i], []byte(texts[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n"

func named(name string) string { return strings.ReplaceAll(configMap, "NAME", name) }

// read returns the names and places of the objects of some paths, then warnings, then the error.
func read(t *testing.T, stdin string, paths ...string) string {
	t.Helper()
	var lines []string
	o := Options{Paths: paths, Stdin: strings.NewReader(stdin),
		Warn: func(text string) { lines = append(lines, "warning: "+text) }}
	objects, err := Read(t.Context(), o)
	for _, obj := range objects {
		lines = append(lines, obj.GetKind()+" "+obj.GetName()+obj.GetGenerateName()+" in "+
			obj.Origin.String())
	}
	if err != nil {
		lines = append(lines, "error: "+err.Error())
	}
	return strings.Join(lines, "\n")
}

func check(t *testing.T, what, got string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(want, "\n"), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestReadFolder reads a folder as that of a package: without local configuration, files that
// .krmignore lists, and rules of readiness.
func TestReadFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "app/.krmignore", "skip\n", "app/skip/x.yaml", "{{ template }}",
		"app/a.yaml", named("a")+"---\n"+named("b"),
		"app/local.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: local\n"+
			"  annotations: {config.kubernetes.io/local-config: \"true\"}\n",
		"app/sub/job.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: run-}\n",
		"app/config.yaml", "apiVersion: kapp.k14s.io/v1alpha1\nkind: Config\n",
		"app/"+policy.RulesName, "rules: []\n", "more.yaml", named("c"))
	check(t, "one folder", read(t, "", "app"),
		"ConfigMap a in a.yaml:1", "ConfigMap b in a.yaml:5",
		"Config  in config.yaml", "Job run-8c3b8494e6 in sub/job.yaml")
	check(t, "several paths", read(t, named("d"), "app/sub", "more.yaml", "-"),
		"Job run-8c3b8494e6 in app/sub/job.yaml", "ConfigMap c in more.yaml", "ConfigMap d in stdin")
}

// TestReadProblems checks that the problems of all files are reported at once.
func TestReadProblems(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "app/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n",
		"app/b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, labels: {on: true}}\n",
		"app/kustomize/kustomization.yaml", "resources: [x.yaml]\n")
	check(t, "problems", read(t, "", "app", "none.yaml", "app/kustomize/kustomization.yaml"),
		"error: app: kustomize/kustomization.yaml: only a kustomization at the top of the package is "+
			"built; give \"app/kustomize\" as the package, or leave the folder out with .krmignore",
		"app: a.yaml: line 3: metadata.name is missing",
		`app: b.yaml: line 3: configmap/b: label "on" must be a string, got boolean`,
		`"none.yaml" does not exist`,
		"app/kustomize/kustomization.yaml: it is a kustomization: name its folder, -f app/kustomize")
}

// TestReadForeign refuses what is meant for other tools, as the output of helm template.
func TestReadForeign(t *testing.T) {
	t.Chdir(t.TempDir())
	hook := strings.ReplaceAll(named("h"), "name: h", "name: h, annotations: {helm.sh/hook: test}")
	argo := strings.ReplaceAll(named("s"), "name: s",
		"name: s, annotations: {argocd.argoproj.io/hook: PostSync}")
	sealed := named("e") + "sops: {mac: x, lastmodified: y}\n"
	const way = `annotation "helm.sh/hook" (test) makes it a hook, which Helm runs at that time ` +
		"alone; muster has no hooks: render the chart without them (helm template --no-hooks), or " +
		"remove the annotation to deploy it as every other object"
	write(t, "app/a.yaml", named("a"), "app/hook.yaml", hook, "sealed.yaml", sealed, "argo.yaml", argo)
	check(t, "folder, file and stream", read(t, named("b")+"---\n"+hook, "app", "sealed.yaml", "-"),
		"ConfigMap a in app/a.yaml",
		"error: app: hook.yaml: line 3: configmap/h: "+way,
		"sealed.yaml: line 4: configmap/e: SOPS has encrypted it (field sops); muster does not "+
			"decrypt: pipe what 'sops decrypt' prints into muster, or leave the file out and let who "+
			"decrypts it deploy it",
		"stdin: document 2, line 7: configmap/h: "+way)
	check(t, "hook of Argo CD", read(t, "", "argo.yaml"),
		`warning: argo.yaml: line 3: configmap/s: annotation "argocd.argoproj.io/hook" (PostSync) `+
			"makes it a hook, which Argo CD runs at that time alone; here it is deployed as every "+
			"other object",
		"ConfigMap s in argo.yaml")
}

// TestReadKustomization builds a folder with a kustomization.
func TestReadKustomization(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "app/kustomization.yaml", "namePrefix: my-\nresources: [a.yaml]\n", "app/a.yaml",
		named("a"), "app/unused.yaml", named("unused"))
	check(t, "built", read(t, "", "app"), "ConfigMap my-a in a.yaml (built by kustomization.yaml)")
	write(t, "over/lay/kustomization.yaml", "resources: [../../app]\n")
	check(t, "of several folders", read(t, named("b"), "over/lay", "-"),
		"ConfigMap my-a in app/a.yaml (built by over/lay/kustomization.yaml)",
		"ConfigMap b in stdin")
	for name, want := range map[string]string{
		"oci://reg/shop:1//over/lay":  "oci://reg/shop:1//a.yaml",
		"GitRepository shop/over/lay": "GitRepository shop/a.yaml",
	} {
		objects := []manifest.Object{{Unstructured: &unstructured.Unstructured{}, Origin: manifest.Origin{
			Path: "../../a.yaml", Builder: "kustomization.yaml"}}}
		Artifact{Name: name}.Annotate(objects)
		check(t, name, objects[0].Origin.String(), want+" (built by "+name+"/kustomization.yaml)")
	}
}

// TestReadPackage checks that a package is not deployed as an app.
func TestReadPackage(t *testing.T) {
	const group = "apiVersion: kpt.dev/v1alpha1\nkind: ResourceGroup\nmetadata: {name: rg}\n"
	const kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: k}\n" +
		"inventory: {name: i, namespace: n, inventoryID: x}\n"
	const way = "it is an inventory, so this folder is a package: muster apply %; to deploy its " +
		"objects as an app, leave the inventory out"
	t.Chdir(t.TempDir())
	write(t, "pkg/rg.yaml", named("a")+"---\n"+group, "old/Kptfile", kptfile)
	advice := func(dir string) string { return strings.ReplaceAll(way, "%", dir) }
	check(t, "folder", read(t, "", "pkg"), "ConfigMap a in rg.yaml:1",
		"error: rg.yaml:5: "+advice("pkg"))
	check(t, "file", read(t, "", "pkg/rg.yaml"), "ConfigMap a in pkg/rg.yaml:1",
		"error: pkg/rg.yaml:5: "+advice("pkg"))
	check(t, "Kptfile", read(t, "", "old"), "error: Kptfile: "+advice("old"))
	check(t, "stream", read(t, kptfile, "-"), "error: stdin: "+advice("-"))
}

// TestReadURL reads a URL, and does not show its password.
func TestReadURL(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/a.yaml" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(named("a")))
	}))
	defer server.Close()
	address := strings.Replace(server.URL, "://", "://me:secret@", 1)
	shown := strings.Replace(server.URL, "://", "://me:xxxxx@", 1)
	check(t, "URL", read(t, "", address+"/a.yaml"), "ConfigMap a in "+shown+"/a.yaml")
	check(t, "none", read(t, "", address+"/b.yaml"),
		"error: Requesting URL '"+shown+"/b.yaml': 404 Not Found")
}

// kinds are the kinds of a cluster, all namespaced.
type kinds map[schema.GroupKind]cluster.Kind

func (k kinds) Kind(_ context.Context, gk schema.GroupKind) (cluster.Kind, error) {
	if kind, ok := k[gk]; ok {
		return kind, nil
	}
	return cluster.Kind{}, &cluster.UnknownKindError{GroupKind: gk,
		Similar: []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}}}
}

func (k kinds) AwaitKind(context.Context, schema.GroupVersionKind) error { return nil }

func (k kinds) LearnKind(context.Context, *unstructured.Unstructured) error { return nil }

// TestResolve checks namespaces, kinds and repeated objects, and that configuration passes.
func TestResolve(t *testing.T) {
	t.Chdir(t.TempDir())
	known := kinds{{Kind: "ConfigMap"}: {Namespaced: true, Served: []string{"v1"}}}
	resolve := func() string {
		objects, err := Read(t.Context(), Options{Paths: []string{"app"}})
		if err != nil {
			t.Fatal(err)
		}
		desired, err := Resolve(t.Context(), known, objects, packages.Scope{Namespace: "n"}, nil)
		var lines []string
		for _, d := range desired {
			lines = append(lines, d.GetNamespace()+"/"+d.GetKind()+" in "+d.Origin)
		}
		if err != nil {
			lines = append(lines, err.Error())
		}
		return strings.Join(lines, "\n")
	}
	write(t, "app/a.yaml", named("a"), "app/config.yaml",
		"apiVersion: kapp.k14s.io/v1alpha1\nkind: Config\n")
	check(t, "resolved", resolve(), "/Config in config.yaml", "n/ConfigMap in a.yaml")
	write(t, "app/b.yaml", named("a")+"data: {x: \"1\"}\n", "app/c.yaml",
		strings.ReplaceAll(named("c"), "ConfigMap", "ConfgiMap"))
	check(t, "problems", resolve(), "/Config in config.yaml", "n/ConfigMap in a.yaml",
		"n/configmap/a is described twice: in a.yaml and in b.yaml; keep one of them",
		"the cluster does not know these kinds, and the manifests do not define them:",
		"- v1, Kind=ConfgiMap (c.yaml): did you mean ConfigMap?")
}

// TestReadRules finds the rules at the top of folders.
func TestReadRules(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "app/"+policy.RulesName, "nonsense: true\n")
	builtin, err := ReadRules(t.Context(), []string{"none", "-"}, nil)
	if err != nil || len(builtin) == 0 {
		t.Errorf("built-in rules: %d, %v", len(builtin), err)
	}
	_, err = ReadRules(t.Context(), []string{"app"}, nil)
	if err == nil || !strings.Contains(err.Error(), filepath.Join("app", policy.RulesName)) {
		t.Errorf("rules of the folder: got %v", err)
	}
}

// TestReadDanglingLinks checks that a link that leads nowhere is an error that says so.
func TestReadDanglingLinks(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a.yaml", named("a"))
	for name, target := range map[string]string{"gone": "nowhere", "loop": "loop"} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	check(t, "a link to nothing", read(t, "", "a.yaml", "gone"), "ConfigMap a in a.yaml",
		`error: "gone" is a symbolic link that leads nowhere`)
	check(t, "a link to itself", read(t, "", "a.yaml", "loop"), "ConfigMap a in a.yaml",
		`error: open loop: too many levels of symbolic links`)
}
