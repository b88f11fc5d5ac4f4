package kustomize

//lint:file-ignore SA1019 deprecated fields and the types of plugins name files too

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/kustomize/api/builtins"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// choices are the decisions of a maker, a byte each. After the last one, every decision is 0.
type choices []byte

func randomBytes(seed uint64) []byte {
	text := make([]byte, 400)
	random := rand.NewChaCha8([32]byte{byte(seed)})
	_, _ = random.Read(text)
	return text
}

// next returns the next decision, below n.
func (c *choices) next(n int) int {
	if len(*c) == 0 {
		return 0
	}
	b := int((*c)[0])
	*c = (*c)[1:]
	return b % n
}

// of returns one of the options.
func of[T any](c *choices, options []T) T { return options[c.next(len(options))] }

// Paths and texts of a kustomization.
var (
	folders = []string{"base", "part", "gen", "../base", "link", ".", "..", "none", "OUTSIDE"}
	paths   = []string{
		"cm.yaml", "deployment.yaml", "patch.yaml", "gen.yaml", "vars.env", "schema.json",
		"config.yaml", "kustomization.yaml", "../base/cm.yaml", "link", "link/secret",
		"base/cm.yaml",
	}
	elsewhere = []string{
		"http://ADDRESS/c", "HTTPS://example.com/c",
		"file:///nowhere?ref=--upload-pack=touch%20MARKER",
		"FILE://OUTSIDE", "git::http://ADDRESS/org/repo?timeout=1", "git::OUTSIDE",
		"s3::http://ADDRESS/c", "hg::http://ADDRESS/c", "ssh://git@127.0.0.1/org/repo",
		"git@127.0.0.1:org/repo",
		"org-1234@github.com:org/repo", "github.com/org/repo", "gh:org/repo",
		"example.com/org/repo.git",
		"example.com/org/_git/repo", "OUTSIDE/secret", "OUTSIDE/.git", "../../outside/secret",
		"../../outside", "~/secret", "$HOME/secret", "${HOME}", "%2e%2e/%2e%2e/outside/secret",
		"/proc/self/environ", "/dev/zero", "\\\\example.com\\c", "oci://ADDRESS/c",
		"data:text/plain,a",
		"http:ADDRESS/c", "https:///ADDRESS/c", "user:password@ADDRESS:org/repo",
		"git.example.com:org/repo",
	}
	before = []string{"", "", "", "a=", "=", "a=b=", " ", "\t", "\n", "./", "../", "/",
		"git::", "file://",
		"\u00a0", "\u2060", "\x00", "base/../", "c:", "?", "#", "%", "ht\ttp://"}
	after = []string{"", "", "", "?ref=main", "?ref=--upload-pack=touch%20MARKER%20%23",
		"//base", "/",
		"/original", "/kustomization.yaml", "/.", "/..", " ", "\n", "\x00", ".git", "#a",
		"@", ":", "="}
	words = []string{
		"a", "web", "ConfigMap", "Deployment", "v1", "apps/v1", "metadata.name", "data.a",
		"spec.replicas", "*", "", "a=b", ".*", "[", "$(A)", "replace", "merge", "true",
		"originAnnotations", "\u202e",
		"é", "transformerAnnotations", "managedByLabel", "legacy", "fifo", "Component",
		"kustomization.yaml",
		"kustomize.config.k8s.io/v1alpha1", "builtin", "List", "metadata.annotations.a",
		"spec.template.spec.containers.[name=a].image", "spec.template.spec.containers.*.image",
	}
	patches = []string{
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: c}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, $patch: delete}",
		"[{op: replace, path: /data/a, value: c}]", "- {op: remove, path: /data}", "[]", "a",
		"null",
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: null}}",
		"{apiVersion: a/v1, kind: A, metadata: {name: a, annotations: {a: 'http://ADDRESS/c'}}}",
	}
)

// Fields that name folders, and fields that name files.
var (
	nameFolders = []string{"resources", "bases", "components"}
	namePlugins = []string{"generators", "transformers", "validators"}
	nameFiles   = []string{"files", "envs", "env", "path", "paths", "targetFilePath", "crds",
		"configurations", "valuesFile", "additionalValuesFiles"}
	namePatches = []string{"patch", "patchesStrategicMerge", "jsonOp", "patches"}
)

// plugins are the types of the configurations of plugins.
var plugins = []struct {
	kind string
	of   reflect.Type
}{
	{"ConfigMapGenerator", reflect.TypeFor[builtins.ConfigMapGeneratorPlugin]()},
	{"SecretGenerator", reflect.TypeFor[builtins.SecretGeneratorPlugin]()},
	{"PatchTransformer", reflect.TypeFor[builtins.PatchTransformerPlugin]()},
	{"PatchJson6902Transformer", reflect.TypeFor[builtins.PatchJson6902TransformerPlugin]()},
	{"PatchStrategicMergeTransformer",
		reflect.TypeFor[builtins.PatchStrategicMergeTransformerPlugin]()},
	{"ReplacementTransformer", reflect.TypeFor[builtins.ReplacementTransformerPlugin]()},
	{"ValueAddTransformer", reflect.TypeFor[builtins.ValueAddTransformerPlugin]()},
	{"AnnotationsTransformer", reflect.TypeFor[builtins.AnnotationsTransformerPlugin]()},
	{"HashTransformer", reflect.TypeFor[builtins.HashTransformerPlugin]()},
	{"IAMPolicyGenerator", reflect.TypeFor[builtins.IAMPolicyGeneratorPlugin]()},
	{"ImageTagTransformer", reflect.TypeFor[builtins.ImageTagTransformerPlugin]()},
	{"LabelTransformer", reflect.TypeFor[builtins.LabelTransformerPlugin]()},
	{"NamespaceTransformer", reflect.TypeFor[builtins.NamespaceTransformerPlugin]()},
	{"PrefixTransformer", reflect.TypeFor[builtins.PrefixTransformerPlugin]()},
	{"SuffixTransformer", reflect.TypeFor[builtins.SuffixTransformerPlugin]()},
	{"ReplicaCountTransformer", reflect.TypeFor[builtins.ReplicaCountTransformerPlugin]()},
	{"HelmChartInflationGenerator", reflect.TypeFor[builtins.HelmChartInflationGeneratorPlugin]()},
}

// fixed are files to which a kustomization may refer.
const fixed = `-- cm.yaml --
{apiVersion: v1, kind: ConfigMap,
  metadata: {name: a, annotations: {a: "http://ADDRESS/c"}}, data: {a: b}}
-- deployment.yaml --
{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 1,
  selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}},
  spec: {containers: [{name: a, image: "a:1", envFrom: [{configMapRef: {name: a}}]}]}}}}
-- patch.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {b: c}}
-- vars.env --
a=b
-- config.yaml --
nameReference: [{kind: ConfigMap, fieldSpecs: [{path: a/b, kind: A}]}]
-- schema.json --
{"definitions": {"a.v1.A": {"type": "object", "x-kubernetes-group-version-kind":
  [{"group": "a", "kind": "A", "version": "v1"}]}}}
-- run.sh --
#!/bin/sh
touch MARKER
`

// makeArchive returns an archive with a package, bases, a component and configurations of plugins.
func makeArchive(c choices) string {
	archive := &txtar.Archive{}
	top := types.Kustomization{}
	for _, folder := range []string{"", "base/", "part/", "gen/", "../base/"} {
		for _, file := range txtar.Parse([]byte(fixed)).Files {
			if folder != "" && folder != "base/" && file.Name != "cm.yaml" {
				continue
			}
			archive.Files = append(archive.Files, txtar.File{Name: folder + file.Name, Data: file.Data})
		}
		k, _ := c.value("", reflect.TypeOf(top), 0).(map[string]any)
		if _, set := k["resources"]; !set && c.next(4) > 0 {
			k["resources"] = []string{"cm.yaml"}
		}
		if folder == "part/" {
			k["apiVersion"], k["kind"] = types.ComponentVersion, types.ComponentKind
		}
		add := func(name string, value any) {
			text, err := yaml.Marshal(value)
			if err == nil {
				archive.Files = append(archive.Files, txtar.File{Name: folder + name, Data: text})
			}
		}
		add(of(&c, []string{"kustomization.yaml", "kustomization.yaml", "Kustomization"}), k)
		add("gen.yaml", c.plugin())
		if c.next(4) == 3 {
			archive.Files = append(archive.Files, txtar.File{
				Name: folder + "link.link",
				Data: []byte(of(&c, append(append(elsewhere, folders...), paths...)) + "\n"),
			})
		}
	}
	return string(txtar.Format(archive))
}

// plugin returns a configuration of a plugin, or a list of some.
func (c *choices) plugin() any {
	if c.next(5) == 4 {
		return map[string]any{"apiVersion": "v1", "kind": of(c, []string{"List", "AList"}),
			"items": []any{c.plugin(), c.plugin()}}
	}
	kind := of(c, plugins)
	config, _ := c.value("", kind.of, 1).(map[string]any)
	config["apiVersion"], config["kind"] = "builtin", kind.kind
	metadata := map[string]any{"name": of(c, words)}
	if c.next(16) == 15 {
		config["apiVersion"] = of(c, words)
		metadata["annotations"] = map[string]any{"config.kubernetes.io/function": of(c, []string{
			"{exec: {path: ./run.sh}}", "{container: {image: a}}",
			"{starlark: {url: 'http://ADDRESS'}}"})}
	}
	config["metadata"] = metadata
	return config
}

// maxDepth limits how deep values are.
const maxDepth = 6

// value returns a value for a field of a type.
func (c *choices) value(name string, of reflect.Type, depth int) any {
	switch {
	case of.Kind() == reflect.Pointer:
		return c.value(name, of.Elem(), depth)
	case depth > maxDepth:
		return nil
	}
	switch of.Kind() {
	case reflect.Struct:
		return c.fields(of, depth)
	case reflect.Slice:
		var values []any
		for range 1 + c.next(3) {
			values = append(values, c.value(name, of.Elem(), depth+1))
		}
		return values
	case reflect.Map:
		keys := []string{"path", "a", "version", "Path", "http://ADDRESS/c"}
		return map[string]any{keys[c.next(len(keys))]: c.text(name)}
	case reflect.Bool:
		return c.next(2) == 1
	case reflect.Int, reflect.Int64:
		return c.next(9) - 1
	}
	return c.text(name)
}

// fields returns values for some fields of a structure.
func (c *choices) fields(of reflect.Type, depth int) map[string]any {
	values := map[string]any{}
	var fields []reflect.StructField
	for _, field := range reflect.VisibleFields(of) {
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); field.IsExported() && tag != "-" &&
			(!field.Anonymous || tag != "") {
			fields = append(fields, field)
		}
	}
	if len(fields) == 0 {
		return values
	}
	var set []string
	for range 1 + c.next(4) {
		field := fields[c.next(len(fields))]
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = field.Name
		}
		if isRare(name) && c.next(8) > 0 || slices.Contains(set, name) {
			continue
		}
		set = append(set, name)
		values[c.recase(name)] = c.value(name, field.Type, depth+1)
	}
	return values
}

// isRare reports whether hardly a kustomization with a field is built.
func isRare(name string) bool {
	return strings.HasPrefix(name, "helm") || name == "kind" || name == "apiVersion" ||
		name == "openapi" || name == "vars"
}

// recase returns a name that seldom has other letters, which the library takes for the same.
func (c *choices) recase(name string) string {
	switch c.next(50) {
	case 47:
		return strings.ToUpper(name)
	case 48:
		return strings.ToUpper(name[:1]) + name[1:]
	case 49:
		return strings.NewReplacer("s", "ſ", "k", "\u212a").Replace(name)
	}
	return name
}

// text returns a value for a field, mostly one that fits.
func (c *choices) text(name string) string {
	fits := words
	switch {
	case slices.Contains(nameFolders, name):
		fits = append(folders[:5:5], paths...)
	case slices.Contains(namePlugins, name):
		if c.next(2) == 1 {
			if text, err := yaml.Marshal(c.plugin()); err == nil {
				return string(text)
			}
		}
		fits = []string{"gen.yaml", "gen", "base/gen.yaml", "cm.yaml"}
	case slices.Contains(nameFiles, name), name == "openapi":
		fits = paths
	case slices.Contains(namePatches, name):
		fits = patches
	}
	switch c.next(12) {
	case 8, 9:
		return of(c, before) + of(c, elsewhere) + of(c, after)
	case 10:
		return of(c, before) + of(c, append(append(folders, paths...), words...)) + of(c, after)
	case 11:
		length := min(len(*c), c.next(24))
		raw := string((*c)[:min(length, len(*c))])
		*c = (*c)[len(raw):]
		return raw
	}
	return of(c, fits)
}
