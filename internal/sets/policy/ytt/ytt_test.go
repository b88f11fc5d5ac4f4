package ytt

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestGolden applies the overlays of each archive, sorted by name, to resource.yml one after the
// other, as rules do. data.values has existing.yml, new.yml and the result so far as _current.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, files map[string]string) map[string]string {
		current := read(t, files["resource.yml"])
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if !strings.HasPrefix(name, "overlay") {
				continue
			}
			values := map[string]any{"new": read(t, files["resource.yml"]), "existing": nil,
				"_current": current}
			if text, ok := files["existing.yml"]; ok {
				values["existing"] = read(t, text)
			}
			before := write(t, map[string]any{"current": current, "values": values})
			out, err := ApplyOverlay(current, files[name], values)
			if after := write(t, map[string]any{"current": current, "values": values}); after != before {
				t.Errorf("%s changed what went in:\n%s", name, after)
			}
			if err != nil {
				return map[string]string{"error": err.Error()}
			}
			current = out
		}
		return map[string]string{"result": write(t, current)}
	})
}

func read(t *testing.T, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var value map[string]any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func write(t *testing.T, value any) string {
	t.Helper()
	out, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// mistakes are overlays with the beginnings of their errors: "=== error" stands before an overlay
// that follows the usual first lines, "==! error" before a complete one. "¦" in errors stands for
// a line break.
const mistakes = `
==! overlay.yml: yaml: line 1
a: [
=== overlay.yml line 5: the block of "if True:" has no end
#@ if True:
a: 1
=== overlay.yml line 5: end closes nothing
#@ end
a: 1
=== overlay.yml line 5: else follows no if
#@ else:
a: 1
#@ end
=== overlay.yml line 5: a bracket or string is still open where the YAML of line 6 begins
a: #@ [1
b: 2
=== overlay.yml line 5: a bracket or string is still open where the YAML of line 7 begins
#@ x = (

a: 1
=== overlay.yml line 5: got ')', want primary expression
a: #@ 1 +
=== overlay.yml line 5: undefined: nothing
a: #@ nothing
=== Evaluating: ¦- struct has no .spec field or method¦    in <toplevel>¦      overlay.yml:5 | a: #@ data
a: #@ data.values.existing.spec.replicas
=== Evaluating: ¦- fail: no: 1¦    in <toplevel>¦      overlay.yml:7 | #@ fail('no: ' + str(x))

#@ x = 1
#@ fail('no: ' + str(x))
a: 1
=== overlay.yml line 5: overlay/match: the key "a": 1 node expected (missing_ok=True allows none), but 0 found
a: 1
=== overlay.yml line 5: overlay/match: the key "kind": 0 nodes expected or 2 nodes expected, but 1 found
#@overlay/match expects=[0,2]
kind: 1
=== overlay.yml line 5: overlay/match: "many" is no number with a plus, as in "1+"
#@overlay/match expects='many'
kind: 1
=== overlay.yml line 5: overlay/match: missing_ok has to be True or False, but is int
#@overlay/match missing_ok=1
kind: 1
=== overlay.yml line 5: overlay/match: only one of expects, missing_ok and when can be given
#@overlay/match missing_ok=True, expects=1
kind: 1
=== Evaluating: ¦- #@overlay/match has no argument when_; it takes [by expects missing_ok when]
#@overlay/match when_=1
kind: 1
=== Evaluating: ¦- #@overlay/match takes arguments by name: [by expects missing_ok when]
#@overlay/match 'kind'
kind: 1
=== overlay.yml line 5: the directive #@overlay/mach is not supported in an overlay; these are: overlay/append, 
#@overlay/mach by='kind'
kind: 1
=== overlay.yml line 5: the directive #@data/values is not supported
#@data/values
---
a: 1
=== overlay.yml line 5: overlay/match: the function given as by has to return a bool, but returned int
#@overlay/match by=lambda i, l, r: 1
kind: 1
=== overlay.yml line 5: overlay/match: ¦- function lambda accepts 1 positional argument (3 given)¦    in lambda
#@overlay/match by=lambda i: True
kind: 1
=== overlay.yml line 5: overlay/match: by has to be a string or a function, but is int
#@overlay/match by=7
kind: 1
=== overlay.yml line 5: #@overlay/insert is for array items, but here is the map key "kind"
#@overlay/insert before=True
kind: 1
=== overlay.yml line 6: #@overlay/remove and #@overlay/replace stand on one node
#@overlay/remove
#@overlay/replace
kind: 1
=== overlay.yml line 6: overlay/match: the argument by is missing
list:
#@overlay/match missing_ok=True
- 1
=== overlay.yml line 6: overlay/match: by="name" compares maps, but here is a string
list:
#@overlay/match by='name'
- 1
=== overlay.yml line 7: #@overlay/insert has neither before=True nor after=True
list:
#@overlay/match by=overlay.index(0)
#@overlay/insert
- 1
=== overlay.yml line 5: #@overlay/assert: what is there is not what the overlay says
#@overlay/assert
kind: Job
=== overlay.yml line 5: #@overlay/assert: via returned False: not so
#@overlay/assert via=lambda l, r: (False, 'not so')
kind: Pod
=== overlay.yml line 5: #@overlay/assert: via has to return None, a bool, or a bool and a text
#@overlay/assert via=lambda l, r: 'x'
kind: Pod
=== overlay.yml line 5: #@overlay/replace: via has to be a function, but is int
#@overlay/replace via=1
kind: Pod
=== overlay.yml line 5: #@overlay/replace: what via returns: a value of the type builtin_function_or_method cannot stand in YAML
#@overlay/replace via=lambda l, r: len
kind: Pod
=== overlay.yml line 5: a map is laid over a string; #@overlay/replace replaces what is there
kind:
  a: 1
=== overlay.yml line 5: an array is laid over a string
kind: [1]
=== Evaluating: ¦- the key "kind" is already in this map
kind: Pod
kind: Pod
=== overlay.yml line 5: the node has a value in YAML and one in #@ 1
kind: Pod #@ 1
=== Evaluating: ¦- the key 1 is no string, and cannot stand in YAML
kind: #@ {1: 2}
=== Evaluating: ¦- the number 1267650600228229401496703205376 is too large
kind: #@ 1 << 100
=== overlay.yml line 5: the aliases stand for more than 100000 values
kind: &x [*x]
=== overlay.yml line 5: << merges maps alone
<<: [a]
=== overlay.yml line 5: a key that is not a scalar is not supported in a template
[a]: b
=== overlay.yml line 6: (@ has no @) in a template of text
#@yaml/text-templated-strings
kind: "(@= 1"
=== overlay.yml line 6: @) closes nothing in a template of text
#@yaml/text-templated-strings
kind: "1 @)"
=== Evaluating: ¦- (@= takes a string, but here is int
#@yaml/text-templated-strings
kind: "(@= 1 @)"
=== overlay.yml line 7: #@ x stands beside no node of the YAML
list: [1,
2
] #@ x
=== overlay.yml line 6: no YAML follows the directive #@overlay/remove
kind: Pod
#@overlay/remove
=== overlay.yml line 6: YAML must follow a line with …/end, but here is code
#@ if/end True:
#@ x = 1
kind: Pod
=== Evaluating: ¦- the script ran more than 20 million steps
#@ for i in range(1000000000):
#@   x = i
#@ end
kind: Pod
=== Evaluating: ¦- function f called recursively¦    in f¦      overlay.yml:6 | #@ return f()¦    in f
#@ def f():
#@ return f()
#@ end
kind: #@ f()
=== Evaluating: ¦- overlay.apply: line 5: overlay/match: the key "b": 1 node expected
kind: #@ overlay.apply({'a': 1}, {'b': 2})
=== Evaluating: ¦- overlay.all: it is a matcher itself
kind: #@ overlay.all()
=== Evaluating: ¦- this map item stands in no node that was begun
#@ def f():
a:
  b: 1
  #@ end
  c: 2
kind: Pod
==! Evaluating: ¦- cannot load funcs.lib.yml: what can be loaded is @ytt: with data, assert, 
#@ load('funcs.lib.yml', 'f')
---
==! Evaluating: ¦- load: name data not found in module @ytt:json
#@ load('@ytt:json', 'data')
---
==! Expected one resource to be returned from ytt, but was 0
#@ load('@ytt:overlay', 'overlay')
#@overlay/match by=overlay.all
#@overlay/remove
---
==! Expected one resource to be returned from ytt, but was 2
#@ load('@ytt:overlay', 'overlay')
#@overlay/append
#@overlay/match by=overlay.all
---
a: 1
==! overlay.yml line 1: overlay/match: by="name" finds no such key in the map with kind, list
#@overlay/match by='name'
---
kind: Pod
==! overlay.yml: the overlay makes a int64 of the resource
#@ load('@ytt:overlay', 'overlay')
#@overlay/match by=overlay.all
--- 7
`

// TestMistakes checks the error of each mistake. It names the line and contains no value of the
// object.
func TestMistakes(t *testing.T) {
	const head = "#@ load('@ytt:overlay', 'overlay')\n#@ load('@ytt:data', 'data')\n" +
		"#@overlay/match by=overlay.all\n---\n"
	cases := strings.Split(mistakes, "\n==")[1:]
	if len(cases) != 58 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		want, overlay, _ := strings.Cut(c, "\n")
		overlay += "\n"
		if want[0] == '=' {
			overlay = head + overlay
		}
		want = want[2:]
		object := map[string]any{"kind": "Pod", "list": []any{"secret"}}
		out, err := ApplyOverlay(object, overlay, map[string]any{"existing": map[string]any{}})
		if err == nil {
			t.Errorf("no error, but %v, for:\n%s", out, overlay)
			continue
		}
		if !strings.HasPrefix(strings.ReplaceAll(err.Error(), "\n", "¦"), want) {
			t.Errorf("got:  %v\nwant: %s\nfor:\n%s", err, want, overlay)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error contains a value of the object: %v", err)
		}
	}
}
