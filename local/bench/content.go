package main

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
)

// content makes the manifests of a package, as file names with what is in them. One object in
// changedShare is of the given edition, all others are of the first. No manifest holds "{{", which
// a chart would take for its own.
type content func(p *pack, n, edition int) iter.Seq2[string, []byte]

const (
	changedShare = 100  // how many objects share one that changes: one per cent
	perFile      = 1000 // objects in a file; charts do not take files of more than 5 MB
)

// shape is a kind of object, as what follows its apiVersion and kind; %[1]s is its name, and %[2]s
// its metadata.
type shape string

// template is what all deployments have in common. The label set identifies their pods.
const template = `
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s, set: "%[3]s"}}
    spec: {containers: [{name: main, image: "example/web:1"}]}
`

var (
	shapes = []shape{
		"apiVersion: v1\nkind: ConfigMap\n%[2]s" +
			"data: {key: value, long: some text that a program reads}\n",
		"apiVersion: v1\nkind: Secret\n%[2]sdata: {password: bm90LW9uZQ==}\n",
		"apiVersion: v1\nkind: ServiceAccount\n%[2]s",
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n%[2]s" +
			"rules: [{apiGroups: [''], resources: [configmaps], verbs: [get, list]}]\n",
		"apiVersion: apps/v1\nkind: Deployment\n%[2]sspec:\n  replicas: 0" + template,
	}
	// running is the shape of objects that have pods to wait for.
	running = []shape{"apiVersion: apps/v1\nkind: Deployment\n%[2]sspec:\n  replicas: 1" + template}
)

// mixed are objects of many kinds that are ready at once, and pods of those that have one each.
var (
	mixed   = shaped("bench", shapes)
	pods    = shaped("bench", running)
	foreign = shaped("foreign", shapes)
)

// shaped returns n objects split evenly over shapes. Their names begin with a word.
func shaped(word string, shapes []shape) content {
	return func(p *pack, n, edition int) iter.Seq2[string, []byte] {
		return func(yield func(string, []byte) bool) {
			for first := 0; first < n; first += perFile {
				var file bytes.Buffer
				for i := first; i < min(first+perFile, n); i++ {
					name := fmt.Sprintf("%s-%05d", word, i)
					file.WriteString("---\n")
					fmt.Fprintf(
						&file,
						string(shapes[i%len(shapes)]),
						name,
						p.metadata(name, i, edition),
						p.home+"-"+word,
					)
				}
				if !yield(fmt.Sprintf("objects-%03d.yaml", first/perFile), file.Bytes()) {
					return
				}
			}
		}
	}
}

// metadata returns the metadata of an object by its number; namespaces take turns.
func (p *pack) metadata(name string, i, edition int) string {
	return fmt.Sprintf(
		"metadata:\n  name: %s\n  namespace: %s\n  annotations: {example.com/edition: '%d'}\n",
		name,
		p.namespaces[i%len(p.namespaces)],
		editionOf(i, edition),
	)
}

// editionOf returns the edition of an object by its number.
func editionOf(i, edition int) int {
	if i%changedShare == 0 {
		return edition
	}
	return 1
}

// The parts of a large package.
const (
	largeText   = 900_000 // bytes of the text of a large ConfigMap
	fileParts   = 40      // ConfigMaps in the large file
	fileText    = 100_000 // bytes of the text of each: four megabytes in all
	schemaParts = 1500    // properties of the large definition
	schemaText  = 200     // bytes of the description of each
)

// large returns n ConfigMaps of 900 kB, a definition of about 400 kB, and a file of 4 MB.
func large(p *pack, n, edition int) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for i := range n {
			if !yield(
				fmt.Sprintf("large-%03d.yaml", i),
				p.textMap(fmt.Sprintf("large-%03d", i), i, edition, largeText),
			) {
				return
			}
		}
		var file bytes.Buffer
		for i := range fileParts {
			file.Write(p.textMap(fmt.Sprintf("part-%03d", i), i, edition, fileText))
		}
		if yield("file.yaml", file.Bytes()) {
			yield("definition.yaml", p.definition())
		}
	}
}

// textMap returns a ConfigMap that holds a text.
func (p *pack) textMap(name string, i, edition, size int) []byte {
	return fmt.Appendf(
		nil,
		"---\napiVersion: v1\nkind: ConfigMap\n%sdata:\n  text: |\n%s",
		p.metadata(name, i, edition),
		words(uint64(i), size, "    "),
	)
}

// definition returns a definition of this package's own, of a kind with many fields.
func (p *pack) definition() []byte {
	var fields strings.Builder
	for i := range schemaParts {
		fmt.Fprintf(
			&fields,
			"              field%d:\n                type: string\n                description: |\n%s",
			i,
			words(uint64(i), schemaText, "                  "),
		)
	}
	return []byte(customDefinition(p.home+".example.com", "Large", fields.String()))
}

// customDefinition returns the definition of a kind in a group, with the given fields in its spec.
func customDefinition(group, kind, fields string) string {
	lower := strings.ToLower(kind)
	return fmt.Sprintf(`---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %[2]ss.%[1]s
  annotations: {example.com/edition: '1'}
spec:
  group: %[1]s
  scope: Namespaced
  names: {plural: %[2]ss, singular: %[2]s, kind: %[3]s, listKind: %[3]sList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
%[4]s`, group, lower, kind, fields)
}

// words returns lines of a total size in bytes. They are the same for the same seed, and compress
// about as well as text.
func words(seed uint64, size int, indent string) []byte {
	random := rand.New(rand.NewPCG(seed, 1))
	var text bytes.Buffer
	for text.Len() < size {
		text.WriteString(indent)
		for range 10 {
			for range 2 + random.IntN(6) {
				text.WriteByte("aabcdeeefghiillmnoorsttu"[random.IntN(24)])
			}
			text.WriteByte(' ')
		}
		text.WriteString("end\n")
	}
	return text.Bytes()
}
