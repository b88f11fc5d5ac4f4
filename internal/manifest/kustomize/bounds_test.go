package kustomize

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/manifest"
)

// many returns the YAML of so many objects, which are numbered where they have %[1]d.
func many(count int, object string) string {
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, "---\n"+object+"\n", i)
	}
	return b.String()
}

// listed is the beginning of a kustomization.
const listed = "-- kustomization.yaml --\nresources: [cm.yaml]\n"

const configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c%[1]d}, data: {a: b}}"

// doubling returns folders each of which names the next one twice, with another prefix each.
func doubling(levels int, field, kind string) string {
	var b strings.Builder
	for i := range levels {
		fmt.Fprintf(&b, "-- l%d/kustomization.yaml --\n%s%s: [../m%da, ../m%db]\n",
			i, kind, field, i, i)
		for _, half := range []string{"a", "b"} {
			fmt.Fprintf(&b, "-- m%d%s/kustomization.yaml --\n%s%s: [../l%d]\n",
				i, half, kind, field, i+1)
		}
	}
	fmt.Fprintf(&b, "-- l%d/kustomization.yaml --\n%sresources: []\n", levels, kind)
	return b.String()
}

// long is a text of 200 kB.
var long = strings.Repeat("x", 200_000)

// unbounded are folders of less than a megabyte whose build would take much memory or time, and the
// error of each.
var unbounded = []struct{ name, archive, want string }{
	{"annotations", listed + "commonAnnotations: {a: " + long +
		"}\n-- cm.yaml --\n" + many(600, configMap), "kustomization.yaml: commonAnnotations"},
	{"patch", listed + "patches:\n- target: {kind: ConfigMap}\n" +
		"  patch: '[{op: add, path: /data/a, value: " + long + "}]'\n-- cm.yaml --\n" +
		many(600, configMap), "kustomization.yaml: patches"},
	{"patches", listed + "patches:\n" + strings.Repeat(
		"- target: {kind: ConfigMap}\n"+
			"  patch: '{kind: ConfigMap, metadata: {name: x}, data: {a: c}}'\n",
		300) + "-- cm.yaml --\n" + many(600, configMap), "kustomization.yaml: patches"},
	{"copies", listed + "patches:\n- target: {kind: ConfigMap, " +
		"name: c0}\n  patch: |\n" +
		strings.Repeat("    - {op: copy, from: /data, path: /data/b}\n", 30) +
		"-- cm.yaml --\n" + many(1, configMap), "kustomization.yaml: patches"},
	{"labels", listed + "labels: [{pairs: {a: " + long +
		"}}]\n-- cm.yaml --\n" + many(600, configMap), "kustomization.yaml: labels"},
	{"prefix", listed + "namePrefix: " + long +
		"\n-- cm.yaml --\n" + many(600, configMap), "kustomization.yaml: namePrefix"},
	{"images", listed + "images:\n" + strings.Repeat(
		"- {name: a, newTag: b}\n", 10_000) + "-- cm.yaml --\n" + many(2000, configMap),
		"kustomization.yaml: images"},
	{"image", "-- kustomization.yaml --\nresources: [pod.yaml]\nimages: [{name: a, newName: " +
		long +
		"}]\n-- pod.yaml --\n{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [" +
		strings.Repeat("{image: a}, ", 1000) + "]}}\n", "kustomization.yaml: images"},
	{"replicas", listed + "replicas:\n" + strings.Repeat(
		"- {name: a, count: 1}\n", 10_000) + "-- cm.yaml --\n" + many(2000, configMap),
		"kustomization.yaml: replicas"},
	{"replacements", listed + "replacements:\n" + strings.Repeat(
		"- source: {name: c0, fieldPath: data}\n"+
			"  targets: [{select: {name: c0}, fieldPaths: [data.b], options: {create: true}}]\n", 40) +
		"-- cm.yaml --\n" + many(1, configMap), "kustomization.yaml: replacements"},
	{"vars", listed + "vars: [{name: A, objref: {apiVersion: v1, " +
		"kind: ConfigMap, name: c}, fieldref: {fieldpath: data.a}}]\n-- cm.yaml --\n" +
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: " + long + "}}\n---\n" +
		"{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{command: ['" +
		strings.Repeat("$(A)", 2000) + "']}]}}\n", "kustomization.yaml: vars"},
	{"objects", listed + "-- cm.yaml --\n" +
		many(9000, configMap), "kustomization.yaml: resources"},
	{"list", listed + "-- cm.yaml --\nkind: List\napiVersion: v1\n" +
		"items:\n" + strings.ReplaceAll(many(9000, configMap), "---\n", "- "),
		"kustomization.yaml: resources"},
	{"keys", listed + "-- cm.yaml --\n" +
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n---\n" +
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: d}, data: {" + strings.ReplaceAll(
		many(70_000, "k%[1]d: v,"), "---\n", "") + "}}\n", "kustomization.yaml: resources"},
	{"aliases", "-- kustomization.yaml --\nresources: [a.yaml, b.yaml, c.yaml, d.yaml, e.yaml]\n" +
		aliases("a") + aliases("b") + aliases("c") + aliases("d") + aliases("e"),
		"kustomization.yaml: resources"},
	{"bases", "-- kustomization.yaml --\nresources: [l0]\n" + doubling(30, "resources", ""),
		"kustomization.yaml: resources"},
	{"components", listed + "components: [l0]\n" +
		doubling(30, "components", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n") +
		"-- cm.yaml --\n" + many(10, configMap), "kustomization.yaml: components"},
	{"references", listed + "namePrefix: a-\n-- cm.yaml --\n" +
		many(1000, configMap) +
		many(1, "{apiVersion: v1, kind: Pod, metadata: {name: p%[1]d}, spec: "+
			"{containers: [{name: a, envFrom: ["+
			strings.Repeat("{configMapRef: {name: c1}}, ", 20_000)+"]}]}}"),
		"kustomization.yaml: resources"},
	{"generators", "-- kustomization.yaml --\nresources: [a, b]\n" + strings.Join([]string{
		generating("a"), generating("b"), "-- big --\n" + long + "\n"}, ""),
		"b/kustomization.yaml: it and what it names read more than 64 MiB"},
	{"transformers", listed + "transformers: [t]\n" +
		"-- t/kustomization.yaml --\nresources: [t.yaml]\n-- t/t.yaml --\n{apiVersion: builtin, " +
		"kind: AnnotationsTransformer, metadata: {name: a}, annotations: {a: " + long + "}, " +
		"fieldSpecs: [{path: metadata/annotations, create: true}]}\n-- cm.yaml --\n" +
		many(600, configMap), "kustomization.yaml: AnnotationsTransformer"},
	{"validators", listed + "validators: [t.yaml]\n-- t.yaml --\n" +
		many(200, "{apiVersion: builtin, kind: NamespaceTransformer, metadata: {name: a%[1]d}}") +
		"-- cm.yaml --\n" + many(2000, configMap), "kustomization.yaml: NamespaceTransformer"},
	{"definitions", listed + "crds: [d.json]\n-- d.json --\n" +
		`{"A": {"Schema": {"properties": {"kind": {}, "apiVersion": {}, "metadata": {}, ` +
		`"a": {"$ref": "A"}}}}}` + "\n-- cm.yaml --\n" + many(1, configMap),
		`kustomization.yaml: crds names "d.json": the definition "a" is a part of itself`},
}

// aliases returns an object of a few bytes whose aliases stand for megabytes.
func aliases(name string) string {
	return "-- " + name + ".yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name +
		"}, data: {a: &a [1,1,1,1,1,1,1,1,1,1], b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a], " +
		"c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b], d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c], " +
		"e: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d,*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]}}\n"
}

// generating returns a folder whose generators use one file often.
func generating(name string) string {
	return "-- " + name + "/kustomization.yaml --\nconfigMapGenerator:\n" + strings.ReplaceAll(
		many(300, "{name: "+name+"%[1]d, files: [../big]}"), "---\n", "- ")
}

// TestBounds checks that builds which would take much memory or time do not begin.
func TestBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it is concurrent")
	}
	for _, test := range unbounded {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			writeTree(t, dir, test.archive)
			_, err := Build(t.Context(), dir, Root{Dir: dir}, manifest.Options{})
			if err == nil || !strings.Contains(err.Error(), test.want) ||
				!strings.Contains(err.Error(), "limit") && test.name != "definitions" {
				t.Errorf("Build = %.300v, want %q", err, test.want)
			}
		})
	}
}

// TestWithinBounds builds what is large, and takes little.
func TestWithinBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it is concurrent")
	}
	dir := t.TempDir()
	writeTree(t, dir, listed+"namespace: shop\nnamePrefix: a-\n"+
		"commonLabels: {a: b}\nconfigMapGenerator: [{name: x, literals: [a=b]}]\n-- cm.yaml --\n"+
		many(1000, configMap))
	objects, err := Build(t.Context(), dir, Root{Dir: dir}, manifest.Options{})
	if err != nil || len(objects) != 1001 {
		t.Errorf("Build returns %d objects, and %v", len(objects), err)
	}
}

// TestLongLists checks that a long list is refused before its entries are looked at.
func TestLongLists(t *testing.T) {
	for field, entry := range map[string]string{
		"resources": "missing.yaml", "patches": "{path: p.yaml}", "components": "../c",
	} {
		dir := t.TempDir()
		writeTree(t, dir, "-- kustomization.yaml --\n"+field+":\n"+
			strings.Repeat("- "+entry+"\n", maxReads+1))
		_, err := Build(t.Context(), dir, Root{Dir: dir}, manifest.Options{})
		want := "kustomization.yaml: " + field + " has 20001 entries, more than the limit of 20000"
		if err == nil || err.Error() != want {
			t.Errorf("%s: %.200v", field, err)
		}
	}
}
