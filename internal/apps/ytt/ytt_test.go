package ytt

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/golden"
)

// TestGolden lays the overlays of each archive, by their names, over resource.yml one after the other, as rules do; data.values
// has existing.yml, new.yml and, as _current, what is there so far.
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, files map[string]string) map[string]string {
		current := read(t, files["resource.yml"])
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if !strings.HasPrefix(name, "overlay") {
				continue
			}
			values := map[string]any{"new": read(t, files["resource.yml"]), "existing": nil, "_current": current}
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

// TestMistakes says what each mistake is answered with; every answer names the line, and what stands there.
func TestMistakes(t *testing.T) {
	const head = "#@ load('@ytt:overlay', 'overlay')\n#@ load('@ytt:data', 'data')\n#@overlay/match by=overlay.all\n---\n"
	for _, c := range []struct{ overlay, want string }{
		{"a: [\n", "overlay.yml: yaml: line 1"},
		{head + "#@ if True:\na: 1\n", `overlay.yml line 5: the block of "if True:" has no end`},
		{head + "#@ end\na: 1\n", "overlay.yml line 5: end closes nothing"},
		{head + "#@ else:\na: 1\n#@ end\n", "overlay.yml line 5: else follows no if"},
		{head + "a: #@ [1\nb: 2\n", "overlay.yml line 5: a bracket or string is still open where the YAML of line 6 begins"},
		{head + "#@ x = (\n\na: 1\n", "overlay.yml line 5: a bracket or string is still open where the YAML of line 7 begins"},
		{head + "a: #@ 1 +\n", "overlay.yml line 5: got ')', want primary expression"},
		{head + "a: #@ nothing\n", "overlay.yml line 5: undefined: nothing"},
		{head + "a: #@ data.values.existing.spec.replicas\n", "overlay.yml line 5: struct has no .spec field or method"},
		{head + "\n#@ x = 1\n#@ fail('no: ' + str(x))\na: 1\n", "overlay.yml line 7: fail: no: 1"},
		{head + "a: 1\n", `overlay.yml line 5: overlay/match: the key "a": 1 node expected (missing_ok=True allows none), but 0 found`},
		{head + "#@overlay/match expects=[0,2]\nkind: 1\n", `overlay.yml line 5: overlay/match: the key "kind": 0 nodes expected or 2 nodes expected, but 1 found`},
		{head + "#@overlay/match expects='many'\nkind: 1\n", `overlay.yml line 5: overlay/match: "many" is no number with a plus, as in "1+"`},
		{head + "#@overlay/match missing_ok=1\nkind: 1\n", "overlay.yml line 5: overlay/match: missing_ok has to be True or False, but is int"},
		{head + "#@overlay/match missing_ok=True, expects=1\nkind: 1\n", "overlay.yml line 5: overlay/match: only one of expects, missing_ok and when can be given"},
		{head + "#@overlay/match when_=1\nkind: 1\n", "overlay.yml line 5: #@overlay/match has no argument when_; it takes [by expects missing_ok when]"},
		{head + "#@overlay/match 'kind'\nkind: 1\n", "overlay.yml line 5: #@overlay/match takes arguments by name: [by expects missing_ok when]"},
		{head + "#@overlay/mach by='kind'\nkind: 1\n", "overlay.yml line 5: the directive #@overlay/mach is not supported in an overlay; these are: overlay/append, "},
		{head + "#@data/values\n---\na: 1\n", "overlay.yml line 5: the directive #@data/values is not supported"},
		{head + "#@overlay/match by=lambda i, l, r: 1\nkind: 1\n", "overlay.yml line 5: overlay/match: the function given as by has to return a bool, but returned int"},
		{head + "#@overlay/match by=lambda i: True\nkind: 1\n", "overlay.yml line 5: overlay/match: line 5: function lambda accepts 1 positional argument (3 given)"},
		{head + "#@overlay/match by=7\nkind: 1\n", "overlay.yml line 5: overlay/match: by has to be a string or a function, but is int"},
		{head + "#@overlay/insert before=True\nkind: 1\n", `overlay.yml line 5: #@overlay/insert is for array items, but here is the map key "kind"`},
		{head + "#@overlay/remove\n#@overlay/replace\nkind: 1\n", "overlay.yml line 6: #@overlay/remove and #@overlay/replace stand on one node"},
		{head + "list:\n- 1\n", "overlay.yml line 6: this array item has no #@overlay/match by=… that says what it is laid over"},
		{head + "list:\n#@overlay/match missing_ok=True\n- 1\n", "overlay.yml line 6: overlay/match: the argument by is missing"},
		{head + "list:\n#@overlay/match by='name'\n- 1\n", `overlay.yml line 6: overlay/match: by="name" compares maps, but here is a string`},
		{head + "list:\n#@overlay/match by=overlay.index(0)\n#@overlay/insert\n- 1\n", "overlay.yml line 7: #@overlay/insert has neither before=True nor after=True"},
		{head + "#@overlay/assert\nkind: Job\n", "overlay.yml line 5: #@overlay/assert: what is there is not what the overlay says"},
		{head + "#@overlay/assert via=lambda l, r: (False, 'not so')\nkind: Pod\n", "overlay.yml line 5: #@overlay/assert: via returned False: not so"},
		{head + "#@overlay/assert via=lambda l, r: 'x'\nkind: Pod\n", "overlay.yml line 5: #@overlay/assert: via has to return None, a bool, or a bool and a text"},
		{head + "#@overlay/replace via=1\nkind: Pod\n", "overlay.yml line 5: #@overlay/replace: via has to be a function, but is int"},
		{head + "#@overlay/replace via=lambda l, r: len\nkind: Pod\n", "overlay.yml line 5: #@overlay/replace: what via returns: a value of the type builtin_function_or_method cannot stand in YAML"},
		{head + "kind:\n  a: 1\n", "overlay.yml line 5: a map is laid over a string; #@overlay/replace replaces what is there"},
		{head + "kind: [1]\n", "overlay.yml line 5: an array is laid over a string"},
		{head + "kind: Pod\nkind: Pod\n", `overlay.yml line 6: the key "kind" is already in this map`},
		{head + "kind: Pod #@ 1\n", "overlay.yml line 5: the node has a value in YAML and one in #@ 1"},
		{head + "kind: #@ {1: 2}\n", "overlay.yml line 5: the key 1 is no string, and cannot stand in YAML"},
		{head + "kind: #@ 1 << 100\n", "overlay.yml line 5: the number 1267650600228229401496703205376 is too large"},
		{head + "kind: &x Pod\nother: *x\n", "overlay.yml line 6: aliases of YAML are not supported"},
		{head + "<<: {a: b}\n", "overlay.yml line 5: a key that is no plain word, or a merge (<<)"},
		{head + "list: [1,\n2\n] #@ x\n", "overlay.yml line 7: #@ x stands beside no node of the YAML"},
		{head + "kind: Pod\n#@overlay/remove\n", "overlay.yml line 6: no YAML follows the directive #@overlay/remove"},
		{head + "#@ if/end True:\n#@ x = 1\nkind: Pod\n", "overlay.yml line 6: YAML must follow a line with …/end, but here is code"},
		{head + "#@ for i in range(1000000000):\n#@   x = i\n#@ end\nkind: Pod\n", "overlay.yml line 6: the script ran more than 20 million steps"},
		{head + "#@ def f():\n#@ return f()\n#@ end\nkind: #@ f()\n", "overlay.yml line 6: function f called recursively"},
		{head + "kind: #@ overlay.apply({'a': 1}, {'b': 2})\n", `overlay.yml line 5: overlay.apply: line 5: overlay/match: the key "b": 1 node expected`},
		{head + "kind: #@ overlay.all()\n", "overlay.yml line 5: overlay.all: it is a matcher itself"},
		{head + "#@ def f():\na:\n  b: 1\n  #@ end\n  c: 2\nkind: Pod\n", "overlay.yml line 9: this map item stands in no node that was begun"},
		{"#@ load('funcs.lib.yml', 'f')\n---\n", "overlay.yml line 1: cannot load funcs.lib.yml: what can be loaded is @ytt: with data, assert, "},
		{"#@ load('@ytt:json', 'data')\n---\n", "overlay.yml line 1: load: name data not found in module @ytt:json"},
		{"#@ load('@ytt:overlay', 'overlay')\n#@overlay/match by=overlay.all\n#@overlay/remove\n---\n", "Expected one resource to be returned from ytt, but was 0"},
		{"#@ load('@ytt:overlay', 'overlay')\n#@overlay/append\n#@overlay/match by=overlay.all\n---\na: 1\n", "Expected one resource to be returned from ytt, but was 2"},
		{"#@overlay/match by='name'\n---\nkind: Pod\n", `overlay.yml line 1: overlay/match: by="name" finds no such key in the map with kind, list`},
		{"#@ load('@ytt:overlay', 'overlay')\n#@overlay/match by=overlay.all\n--- 7\n", "overlay.yml: the overlay makes a int64 of the resource"},
	} {
		out, err := ApplyOverlay(map[string]any{"kind": "Pod", "list": []any{"secret"}}, c.overlay, map[string]any{"existing": map[string]any{}})
		if err == nil {
			t.Errorf("no error, but %v, for:\n%s", out, c.overlay)
			continue
		}
		if !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got:  %v\nwant: %s\nfor:\n%s", err, c.want, c.overlay)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error tells what is in the object: %v", err)
		}
	}
}
