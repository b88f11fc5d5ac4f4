package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf16"
)

// badInput is a folder with a sound manifest and files that are hard to read.
type badInput struct {
	name  string
	steps []step
}

// step makes something in a folder.
type step func(dir string) error

// make makes the folder, with an inventory if it is called pkg.
func (b badInput) make(dir string) error {
	steps := []step{file("sound.yaml", sound)}
	if dir == "pkg" {
		steps = append(steps, file("resourcegroup.yaml", "apiVersion: kpt.dev/v1alpha1\n"+
			"kind: ResourceGroup\nmetadata: {name: a, namespace: n, labels: "+
			"{cli-utils.sigs.k8s.io/inventory-id: a}}\n"))
	}
	errs := []error{os.Mkdir(dir, 0o777)}
	for _, step := range append(steps, b.steps...) {
		errs = append(errs, step(dir))
	}
	return errors.Join(errs...)
}

// input returns an input that is made in steps.
func input(name string, steps ...step) badInput { return badInput{name, steps} }

// yaml and json return inputs with the text in one file.
func yaml(name, text string) badInput { return input(name, file("x.yaml", text)) }
func json(name, text string) badInput { return input(name, file("x.json", text)) }

func file(name, text string) step { return repeated(name, text, 1) }

// repeated writes a file that has the text so many times.
func repeated(name, text string, times int) step {
	return func(dir string) error {
		f, err := os.Create(filepath.Join(dir, name))
		for range times {
			if err == nil {
				_, err = io.WriteString(f, text)
			}
		}
		return errors.Join(err, f.Close())
	}
}

func link(to, name string) step {
	return func(dir string) error { return os.Symlink(to, filepath.Join(dir, name)) }
}

func pipe(name string) step {
	return func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, name), 0o666) }
}

func folder(name string) step {
	return func(dir string) error { return os.Mkdir(filepath.Join(dir, name), 0o777) }
}

// size makes a file of this size, without content.
func size(name string, bytes int64) step {
	return func(dir string) error {
		return errors.Join(file(name, "")(dir), os.Truncate(filepath.Join(dir, name), bytes))
	}
}

// sound is a manifest, and soundJSON is another.
const (
	sound     = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sound}\n"
	soundJSON = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "x": "y"}`
)

// withMetadata returns a manifest with these metadata.
func withMetadata(metadata string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: " + metadata + "\n"
}

func zipped(text string) string {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return packed.String()
}

func utf16Of(order binary.AppendByteOrder, text string) string {
	var encoded []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		encoded = order.AppendUint16(encoded, unit)
	}
	return string(encoded)
}

func utf32Of(order binary.AppendByteOrder, text string) string {
	var encoded []byte
	for _, r := range text {
		encoded = order.AppendUint32(encoded, uint32(r))
	}
	return string(encoded)
}

// aliasBomb returns a text in which each anchor stands for ten of the one before.
func aliasBomb() string {
	text := withMetadata("{name: bomb}") + "x:\n- &a0 [" + strings.Repeat("lol, ", 10) + "]\n"
	for i := range 12 {
		text += fmt.Sprintf("- &a%d [%s]\n", i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 10))
	}
	return text
}

// badInputs returns the inputs that are not large.
func badInputs() []badInput {
	return slices.Concat(badEncodings(), badYAML(), badJSON(), badObjects(), badFiles(),
		badKustomizations(), badConfigurations())
}

func badEncodings() []badInput {
	const mark = "\uFEFF"
	little, big := binary.LittleEndian, binary.BigEndian
	return []badInput{
		yaml("empty", ""),
		yaml("comments", "# nothing\n\n# but comments\n"),
		yaml("empty documents", "---\n---\n# nothing\n---\n...\n"),
		yaml("mark in front", mark+sound),
		yaml("mark before a marker", withMetadata("{name: x}")+mark+"---\n"+sound),
		yaml("mark after a marker", withMetadata("{name: x}")+"---\n"+mark+sound),
		yaml("mark in the middle", sound+mark+"data: {}\n"),
		yaml("CRLF", strings.ReplaceAll(withMetadata("{name: x}")+"---\n"+sound, "\n", "\r\n")),
		yaml("CR", strings.ReplaceAll(sound, "\n", "\r")),
		yaml("not UTF-8", sound+"data: {x: \"\xff\xfe\x80\"}\n"),
		yaml("Latin-1", sound+"data: {x: M\xfcller}\n"),
		yaml("UTF-16 LE", utf16Of(little, mark+sound)),
		yaml("UTF-16 BE", utf16Of(big, mark+sound)),
		yaml("UTF-16 without mark", utf16Of(little, sound)),
		yaml("UTF-32 LE", utf32Of(little, mark+sound)),
		yaml("UTF-32 BE", utf32Of(big, mark+sound)),
		yaml("NUL", "apiVersion: v1\nkind: Config\x00Map\nmetadata: {name: x}\n"),
		yaml("nothing but NUL", strings.Repeat("\x00", 4096)),
		yaml("binary", "\x7fELF\x02\x01\x01\x00\x00"+strings.Repeat("\xfe\x01", 100)),
		yaml("gzip", zipped(sound)),
		yaml("raw escape", "apiVersion: v1\nkind: \x1b[31mConfigMap\nmetadata: {name: x}\n"),
		json("empty JSON", ""),
		json("JSON in UTF-16", utf16Of(little, mark+soundJSON)),
		json("JSON with mark", mark+soundJSON),
	}
}

func badYAML() []badInput {
	return []badInput{
		yaml("tabs", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: x\n"),
		yaml("alias bomb", aliasBomb()),
		yaml("long alias", sound+"x:\n- &a "+strings.Repeat("x", 100_000)+"\n"+
			strings.Repeat("- *a\n", 3_000)),
		yaml("alias to itself", sound+"x: &a [*a]\n"),
		yaml("unknown alias", sound+"x: *none\n"),
		yaml("deep lists", sound+"x: "+strings.Repeat("[", 9_000)+strings.Repeat("]", 9_000)+"\n"),
		yaml("deep maps", sound+"x: "+strings.Repeat("{a: ", 9_000)+strings.Repeat("}", 9_000)+"\n"),
		yaml("deep blocks", sound+"x:\n"+strings.Repeat("- ", 20_000)+"\n"),
		yaml("deeper", strings.Repeat("[", 1_000_000)),
		yaml("duplicate keys", sound+"kind: Secret\n"),
		yaml("template", withMetadata("{name: {{ .Values.name }}}")),
		yaml("template line", "{{- if .Values.on }}\n"+sound+"{{- end }}\n"),
		yaml("quoted template", withMetadata("{name: '{{ .Values.name }}'}")),
		yaml("tags", sound+"data: {x: !secret y, z: !!binary aGk=}\n"),
		yaml("merge keys", "x-base: &base {a: b}\n"+sound+"data: {<<: *base, c: d}\n"),
		yaml("bad merge", sound+"data: {<<: 1}\n"),
		yaml("directives", "%YAML 1.2\n%TAG ! tag:example.com,2000:\n---\n"+sound),
		yaml("text after the end", sound+"...\nand more\n"),
		yaml("text after a marker", sound+"--- x\n"),
		yaml("scalar", "just some words\n"),
		yaml("array", "- a\n- b\n"),
		yaml("array of objects", "- {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n"),
		yaml("JSON lines in YAML", soundJSON+"\n"+soundJSON+"\n"),
	}
}

func badJSON() []badInput {
	return []badInput{
		json("other JSON", `{"compilerOptions": {}}`),
		json("truncated JSON", soundJSON[:40]),
		json("JSON with more", soundJSON+" and more"),
		json("JSON lines", soundJSON+"\n"+soundJSON+"\n"),
		json("duplicate keys in JSON", strings.Replace(soundJSON, "{", `{"kind": "Secret", `, 1)),
		json("deep JSON", strings.Replace(soundJSON, `"y"`,
			strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000), 1)),
		json("deeper JSON", strings.Repeat("[", 1_000_000)),
	}
}

func badObjects() []badInput {
	return []badInput{
		yaml("kind is a number", "apiVersion: v1\nkind: 1\nmetadata: {name: x}\n"),
		yaml("apiVersion is a number", "apiVersion: 1\nkind: ConfigMap\nmetadata: {name: x}\n"),
		yaml("bad apiVersion", "apiVersion: a/b/c\nkind: ConfigMap\nmetadata: {name: x}\n"),
		yaml("metadata are a list", withMetadata("[]")),
		yaml("name is a number", withMetadata("{name: 1}")),
		yaml("label is a number", withMetadata("{name: x, labels: {x: 1}}")),
		yaml("labels are a list", withMetadata("{name: x, labels: [x]}")),
		yaml("numbers", sound+"x: .inf\ny: .nan\n"),
		yaml("huge numbers", sound+"x: 1e999\ny: 1e9999999999999\nz: "+
			strings.Repeat("9", 5_000)+"\n"),
		yaml("control characters", "apiVersion: v1\nkind: \"\\e[31mConfigMap\"\n"+
			"metadata: {name: \"\\e[2J\", labels: {\"\\ex\": 1}}\n"),
		yaml("lines in names", "apiVersion: v1\nkind: \"a\\nerror: b\"\n"+
			"metadata: {name: \"x\\ny\", labels: {a: 1}}\n"),
		yaml("direction of text", "apiVersion: v1\nkind: \"a\u202eb\"\n"+
			"metadata: {name: \"x\u2028y\", labels: {a: 1}}\n"),
		yaml("control characters in a key", sound+"\"\\a\": 1\n\"\\a\": 2\n"),
		yaml("no apiVersion", "kind: ConfigMap\nmetadata: {name: x}\n"),
		yaml("no kind", "apiVersion: v1\nmetadata: {name: x}\n"),
		yaml("no name", "apiVersion: v1\nkind: ConfigMap\n"),
		yaml("no object", "replicas: 3\n"),
		yaml("name with a slash", withMetadata("{name: a/b}")),
		yaml("name of dots", withMetadata("{name: ..}")),
		yaml("name that only some kinds may have", withMetadata("{name: Web_1}")),
		yaml("bad namespace", withMetadata("{name: x, namespace: Un_named}")),
		yaml("generateName", withMetadata("{generateName: x-}")),
		yaml("one identity", sound+"data: {a: b}\n"),
		yaml("list of bad items", "apiVersion: v1\nkind: List\nitems:\n- 1\n- {kind: x}\n- null\n- "+
			soundJSON+"\n"),
		yaml("list in a list", "apiVersion: v1\nkind: List\nitems:\n"+
			"- {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap}]}\n"),
		yaml("list without items", "apiVersion: v1\nkind: List\n"),
		yaml("list of no items", "apiVersion: v1\nkind: List\nitems: []\n"),
		yaml("list with a map", "apiVersion: v1\nkind: List\nitems: {a: b}\n"),
	}
}

func badFiles() []badInput {
	return []badInput{
		input("circle of links", link("y.yaml", "x.yaml"), link("x.yaml", "y.yaml")),
		input("link to the folder", link(".", "x")),
		input("link to a folder", folder("y"), link("y", "x")),
		input("link to a folder as manifest", folder("y"), link("y", "x.yaml")),
		input("dangling link", link("nowhere", "x.yaml")),
		input("dangling Kptfile", link("nowhere", "Kptfile")),
		input("dangling krmignore", link("nowhere", ".krmignore")),
		input("dangling rules", link("nowhere", "ready-rules.yaml")),
		input("dangling kustomization", link("nowhere", "kustomization.yaml")),
		input("circular rules", link("ready-rules.yaml", "ready-rules.yaml")),
		input("device", link("/dev/zero", "x.yaml")),
		input("device as krmignore", link("/dev/zero", ".krmignore")),
		input("device as rules", link("/dev/zero", "ready-rules.yaml")),
		input("pipe", pipe("x.yaml")),
		input("pipe as Kptfile", pipe("Kptfile")),
		input("pipe as krmignore", pipe(".krmignore")),
		input("pipe as rules", pipe("ready-rules.yaml")),
		input("pipe as kustomization", pipe("kustomization.yaml")),
		input("folder as Kptfile", folder("Kptfile")),
		input("folder as krmignore", folder(".krmignore")),
		input("folder as rules", folder("ready-rules.yaml")),
		input("folder as kustomization", folder("kustomization.yaml")),
		input("folder as manifest", folder("x.yaml"), file("x.yaml/y.yaml", "kind: x")),
		input("lines in the name of a file", file("x\ny\x1b[31m.yaml", sound)),
		input("bytes in the name of a file", file("x\xff.yaml", sound)),
	}
}

func badKustomizations() []badInput {
	kustomization := func(text string) step { return file("kustomization.yaml", text) }
	return []badInput{
		input("deep kustomization", kustomization(strings.Repeat("[", 20_000))),
		input("bomb in a kustomization", kustomization(aliasBomb())),
		input("bomb in a resource", kustomization("resources: [p]"), file("p", aliasBomb())),
		input("pipe in a kustomization", kustomization("resources: [p]"), pipe("p")),
		input("pipe in a generator",
			kustomization("configMapGenerator: [{name: x, files: [p]}]"), pipe("p")),
		input("circle of kustomizations", kustomization("resources: [z]"), folder("z"),
			file("z/kustomization.yaml", "resources: [..]")),
	}
}

func badConfigurations() []badInput {
	return []badInput{
		input("bomb in a Kptfile", file("Kptfile", aliasBomb())),
		input("deep Kptfile", file("Kptfile", strings.Repeat("[", 20_000))),
		input("binary Kptfile", file("Kptfile", zipped("x"))),
		input("binary krmignore", file(".krmignore", zipped("x"))),
		input("krmignore with mark", file("x.yaml", "kind: x"), file(".krmignore", "\uFEFFx.yaml")),
		input("krmignore in UTF-16", file(".krmignore", utf16Of(binary.LittleEndian, "\uFEFFx"))),
		input("bad krmignore", file(".krmignore", strings.Repeat("[\n", 30))),
		input("bomb in rules", file("ready-rules.yaml", aliasBomb())),
		input("deep rules", file("ready-rules.yaml", strings.Repeat("[", 20_000))),
		input("binary rules", file("ready-rules.yaml", zipped("x"))),
		input("control characters in rules",
			file("ready-rules.yaml", "rules:\n- {group: \"\\e[2J\", kind: \"\\e[2J\"}\n")),
	}
}

// largeInputs returns inputs with many problems or of many bytes.
func largeInputs() []badInput {
	const many, large = 50_000, 40 << 20
	long := strings.Repeat("x", 1<<20)
	labels := ""
	for i := range 30 {
		labels += fmt.Sprintf("l%02d: 1, ", i)
	}
	return []badInput{
		input("many documents", repeated("x.yaml", "---\n"+sound, many)),
		input("many bad documents", repeated("x.yaml", "---\nmetadata: []\n", many)),
		input("many broken documents", repeated("x.yaml", "---\na: b: c\n", many)),
		input("many bad objects",
			repeated("x.yaml", "---\n"+withMetadata("{name: x, labels: {a: 1}}"), many)),
		yaml("many bad labels", withMetadata("{name: x, labels: {"+labels+"}}")),
		input("many bad files", func(dir string) error {
			var errs []error
			for i := range 500 {
				errs = append(errs, file(fmt.Sprintf("x%03d.yaml", i), "a: b: c")(dir))
			}
			return errors.Join(errs...)
		}),
		input("long comment", repeated("x.yaml", "#"+long, large>>20)),
		input("many comments", repeated("x.yaml", "# some comment\n", 1<<20)),
		input("long text", func(dir string) error {
			return file("x.yaml", sound+"data: {x: \""+strings.Repeat(long, large>>20)+"\"}\n")(dir)
		}),
		input("long JSON", func(dir string) error {
			return file("x.json", strings.Replace(soundJSON, "y", strings.Repeat(long, 30), 1))(dir)
		}),
		yaml("long name", withMetadata("{name: "+long+", labels: {a: 1}}")),
		yaml("long kind", "apiVersion: v1\nkind: "+long+"\nmetadata: {name: x}"),
		yaml("long key", sound+"? "+long+"\n: 1\n? "+long+"\n: 1\n"),
		yaml("long tag", sound+"x: !"+strings.Repeat("x", 1000)+" 1\n"),
		input("large file", size("x.yaml", 1<<30)),
	}
}

// denseInputs returns inputs of about 6 MB that would be hundreds of MB as values of Go: each is
// refused before that, and what is read of it needs no more memory than other inputs of its size.
func denseInputs() []badInput {
	const size = 6 << 20
	fill := func(head, text, tail string) step {
		return func(dir string) error {
			return file("x.yaml", head+strings.Repeat(text, size/len(text))+tail)(dir)
		}
	}
	numbered := func(head, format string, separate func(i int) string) step {
		return func(dir string) error {
			var text strings.Builder
			text.WriteString(head)
			for i := 0; text.Len() < size; i++ {
				text.WriteString(separate(i))
				fmt.Fprintf(&text, format, i)
			}
			return file("x.yaml", text.String())(dir)
		}
	}
	none := func(int) string { return "" }
	each := func(n int) func(int) string {
		return func(i int) string {
			if i%n > 0 {
				return ""
			}
			return fmt.Sprintf("---\n%sx:\n", withMetadata(fmt.Sprintf("{name: x%d}", i)))
		}
	}
	list := sound + "x: ["
	jsonList := strings.Replace(soundJSON, `"y"}`, "[0", 1)
	return []badInput{
		input("many numbers", fill(sound+"x:\n", "- 1\n", "")),
		input("many numbers in a line", fill(list, "1,", "]\n")),
		input("many numbers in lines", fill(list, "1,\n", "]\n")),
		input("many maps", fill(list, "{a: 1},\n", "]\n")),
		input("many empty maps", fill(list, "{},", "]\n")),
		input("many lists in lists", fill(sound+"x:\n", "- - - []\n", "")),
		input("many nulls", fill(sound+"x:\n", "-\n", "")),
		input("many texts", fill(list, "'',", "]\n")),
		input("many keys", numbered(sound+"x:\n", "  k%d: 1\n", none)),
		input("many keys in a line", numbered(sound+"x: {", "k%d,\n", none)),
		input("many keys in JSON", func(dir string) error {
			return file("x.json", jsonList+strings.Repeat(",0", size/2)+"]}")(dir)
		}),
		input("deep in many places", fill(list, strings.Repeat("[", 50)+strings.Repeat("]", 50)+",",
			"]\n")),
		input("after a quotation mark", fill(sound+"y: a\n  \"b\nx: [", "1,", "]\n")),
		input("after a comment", fill(sound+"y: a #\u2028x: [", "1,", "]\n")),
		input("after a block", fill(sound+"y: |2\n  b\n x: [", "1,", "]\n")),
		input("many small documents", numbered("",
			"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: x%d}}\n", none)),
		input("many documents of maps", numbered("", "- {a: %d}\n", each(10_000))),
		input("many aliases", fill(sound+"y: &a {a: 1, b: 2}\nx:\n", "- *a\n", "")),
		input("many files of maps", func(dir string) error {
			var errs []error
			for i := range 60 {
				errs = append(errs, file(fmt.Sprintf("x%d.yaml", i), withMetadata(fmt.Sprintf(
					"{name: x%d}", i))+"x: ["+strings.Repeat("{a: 1},\n", 100_000/8)+"]\n")(dir))
			}
			return errors.Join(errs...)
		}),
		input("many kept numbers", file("resourcegroup.yaml", strings.Repeat("- 1\n", size/4))),
		input("many values in a Kptfile", file("Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\n"+
			"x: ["+strings.Repeat("1,", size/2)+"]\n")),
		input("many values in rules", file("ready-rules.yaml", strings.Repeat("- 1\n", size/4))),
		input("many values in a kustomization", file("kustomization.yaml",
			"resources: [x]\nx:\n"+strings.Repeat("- 1\n", size/4)), file("x", sound)),
		input("many values in a resource", file("kustomization.yaml", "resources: [x]\n"),
			file("x", sound+"x:\n"+strings.Repeat("- 1\n", size/4))),
	}
}

// largeSets returns sets of ordinary objects that are large, and read.
func largeSets() []badInput {
	many := func(head, format string, count int) step {
		return func(dir string) error {
			var text strings.Builder
			text.WriteString(head)
			for i := range count {
				fmt.Fprintf(&text, format, i)
			}
			return file("x.yaml", text.String())(dir)
		}
	}
	property := "                  f%03d:\n                    description: what a definition " +
		"says of a field in a sentence or two, as most do\n                    type: string\n"
	var properties strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&properties, property, i)
	}
	definition := "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n" +
		"metadata: {name: x%d.example.com}\nspec:\n  versions:\n  - schema:\n" +
		"      openAPIV3Schema:\n        properties:\n          spec:\n" +
		"            properties:\n" + strings.ReplaceAll(properties.String(), "%", "%%")
	return []badInput{
		input("20,000 objects in a list", many("apiVersion: v1\nkind: List\nitems:\n",
			"- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: x%05d\n    namespace: n\n"+
				"    labels:\n      app: a\n  data:\n    a: b\n    c: \"some more text here\"\n", 20_000)),
		input("definitions", many("", definition, 40)),
		input("large ConfigMap", file("x.yaml", withMetadata("{name: x}")+"data:\n  x: |\n"+
			strings.Repeat("    1, 2, - 3, [4, 5], {a: b, c: d}\n", 1<<20/40))),
		input("large ConfigMap in quotes", file("x.yaml", withMetadata("{name: x}")+"data:\n  x: \""+
			strings.Repeat("[1,1,1,1,1,1,1,1]\n    ", 1<<20/24)+"\"\n")),
	}
}
