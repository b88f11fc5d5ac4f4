package ytt

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

const phases = `
load("@ytt:data", "data")

def has(resource, kind):
  for c in resource.status.conditions:
      if c.type == kind and c.status == "True": return True
  end
end

def is_done(resource):
    state = resource.status.phase
    if state == "Failed":
    return {"done": True, "successful": False, "message": "phase is " + state}
    elif state == "Ready":
        return {"Done": True, "Successful": True, "message": None, "unknown": 1}
    elif hasattr(resource.status, "conditions") and has(resource, "Unblock"):
        return {"done": False, "successful": False, "unblockChanges": True, "message": """not
yet: end"""}
    elif data.values.status.phase == "":
        pass
    end
end
`

func TestDone(t *testing.T) {
	conditions := []any{map[string]any{"type": "Ready", "status": "False"},
		map[string]any{"type": "Unblock", "status": "True"}}
	for _, c := range []struct {
		status map[string]any
		want   Verdict
	}{
		{map[string]any{"phase": "Failed"}, Verdict{Done: true, Message: "phase is Failed"}},
		{map[string]any{"phase": "Ready"}, Verdict{Done: true, Successful: true}},
		{map[string]any{"phase": "", "conditions": conditions},
			Verdict{UnblockChanges: true, Message: "not\nyet: end"}},
		{map[string]any{"phase": "Other"}, Verdict{}},
	} {
		obj := map[string]any{"kind": "Thing", "status": c.status}
		got, err := IsDone(obj, phases, obj)
		if err != nil || got != c.want {
			t.Errorf("%v: got %+v, %v, want %+v", c.status, got, err, c.want)
		}
	}
}

func TestDoneMistakes(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{phases, "resource.star line 11: struct has no .status field or method"},
		{"", "resource.star: there is no function is_done(resource)"},
		{"is_done = 1", "resource.star: there is no function is_done(resource)"},
		{"def is_done(r):\n  return 1\n",
			`resource.star line 1: the block of "def is_done(r):" has no end`},
		{"def is_done(r):\n  return 1\nend\n",
			"resource.star: what is_done returns: a dict is expected, with done, successful and message, " +
				"but here is a int64"},
		{"def is_done(r):\n  return {'done': 'yes'}\nend\n",
			"resource.star: what is_done returns: done has to be True or False, but is a string"},
		{"def is_done(r):\n  return {'message': 1}\nend\n",
			"resource.star: what is_done returns: message has to be a string, but is a int64"},
		{"def is_done(r):\n  return {'message': len}\nend\n",
			"resource.star: what is_done returns: a value of the type builtin_function_or_method cannot " +
				"stand in YAML"},
		{"def is_done():\n  return {}\nend\n",
			"resource.star line 1: function is_done accepts no arguments (1 given)"},
		{"x = = 1", "resource.star line 1: got '=', want primary expression"},
		{"load('@ytt:overlay', 'overlay')\ndef is_done(r):\n  return overlay.apply({}, {})\nend",
			"resource.star line 3: overlay.apply: there is no YAML here"},
		{"def is_done(r):\n  _ytt_open(9)\nend", "resource.star line 2: there is no YAML here"},
		{"def is_done(r):\n  x = 0\n  for i in range(100000):\n    for j in range(100000):\n" +
			"  x += 1\n end\nend\nend", "resource.star line 4: the script ran more than"},
	} {
		v, err := IsDone(map[string]any{"kind": "Pod"}, c.script, nil)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %+v, %v\nwant %s\nfor:\n%s", v, err, c.want, c.script)
		}
	}
}

// TestTogether runs one compiled text in several goroutines, as waiting does.
func TestTogether(t *testing.T) {
	overlay := "#@ load('@ytt:overlay', 'overlay')\n#@ load('@ytt:data', 'data')\n" +
		"#@overlay/match by=overlay.all\n---\n#@overlay/match missing_ok=True\nn: #@ data.values.n\n"
	var wait sync.WaitGroup
	for i := range int64(8) {
		wait.Go(func() {
			for range 20 {
				out, err := ApplyOverlay(map[string]any{"kind": "Pod"}, overlay, map[string]any{"n": i})
				if err != nil || out["n"] != i {
					t.Errorf("got %v, %v", out, err)
				}
				obj := map[string]any{"status": map[string]any{"phase": fmt.Sprint(i)}}
				if v, err := IsDone(obj, phases,
					map[string]any{"status": map[string]any{"phase": ""}}); err != nil || v.Done {
					t.Errorf("got %v, %v", v, err)
				}
			}
		})
	}
	wait.Wait()
}

func TestForeignTypes(t *testing.T) {
	_, err := ApplyOverlay(map[string]any{"a": map[string]any{"b": []any{struct{}{}}}}, "---\n", nil)
	want := "the resource: a: b: item 0: a value of the type struct {} has no place in an object"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestPanic calls an internal function with wrong arguments.
func TestPanic(t *testing.T) {
	_, err := ApplyOverlay(map[string]any{}, "#@ _ytt_note()\n---\n", nil)
	if err == nil || !strings.HasPrefix(err.Error(),
		"evaluating failed: runtime error: index out of range") {
		t.Errorf("got %v", err)
	}
}

// FuzzOverlay looks for texts that cause a panic.
func FuzzOverlay(f *testing.F) {
	for _, seed := range []string{"", "---\n",
		"#@ load('@ytt:overlay', 'overlay')\n#@overlay/match by=overlay.all\n---\na: [1, 'x']\n" +
			"b: |\n  #@ x\n- \"\n", "#@ def f():\n- 1 #@ 2\n#@ end\n", "a:\n- - b\n  - #@ [1]\n",
		"a: &x {b: &y [1, *x]}\nc: *y #@ 1\nd: {<<: [*x, *x]}\n",
		"#@yaml/text-templated-strings\n---\na(@= 'b' -@) : |\n  (@ if 1: @) x (@ end @)\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := ApplyOverlay(map[string]any{"a": []any{int64(1)}, "b": "x"}, text,
			map[string]any{"x": "y"})
		if err != nil && strings.HasPrefix(err.Error(), "evaluating failed") {
			t.Error(err)
		}
	})
}

func BenchmarkDone(b *testing.B) {
	obj := map[string]any{"status": map[string]any{"phase": "Ready"}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := IsDone(obj, phases, obj); err != nil {
			b.Fatal(err)
		}
	}
}
