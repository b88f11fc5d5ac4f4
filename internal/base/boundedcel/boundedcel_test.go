package boundedcel

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
)

const testLimit = 1_000_000

// doubled returns an expression for a list that has 2^n values: each of its n maps makes one list
// with the last one twice.
func doubled(n int) string { return chain("[[1]]", "[x, x]", n) }

// chain returns an expression that maps the values of a list n times.
func chain(list, each string, n int) string {
	return list + strings.Repeat(".map(x, "+each+")", n)
}

// TestHostile evaluates expressions that make large values, or that take long, of a few characters.
// Each ends by its cost, and has allocated no more than an honest one may.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it is concurrent")
	}
	const most = 150 << 20
	text := "'" + strings.Repeat("a", 1000) + "'"
	loop := "lists.range(1000).all(x, lists.range(100000)"
	square := "lists.range(1000).map(a, lists.range(1000).map(b, "
	large := doubled(40)
	for name, expression := range map[string]string{
		"replace": text + ".replace('a', " + text + ").replace('a', " + text + ") == ''",
		"replace dynamic": "dyn(" + text + ").replace('a', dyn(" + text + ")).replace('a', " +
			text + ") == ''",
		"replace nothing": "lists.range(100000).map(x, 'a').join().replace('', " + text + ") == ''",
		"add":             chain("['a']", "x + x", 50) + "[0].size() == 0",
		"add bytes":       chain("[b'a']", "x + x", 50) + "[0].size() == 0",
		"add in loop":     "lists.range(100000).map(x, self.text + self.text).size() == 0",
		"join":            "[" + text + "].map(x, lists.range(100000).map(y, x))[0].join() == ''",
		"join separators": "lists.range(100000).map(x, '').join(" + text + ") == ''",
		"join dynamic":    "dyn(lists.range(100000).map(x, '')).join(" + text + ") == ''",
		"format list":     "'%s'.format(" + large + ") == ''",
		"format many":     "'" + strings.Repeat("%s", 900) + "'.format([1].map(x, self.text)) == ''",
		"format digits":   "'%.1000000000f'.format([1.0]) == ''",
		"range":           "lists.range(1000000000).size() == 0",
		"range in loop":   loop + ".size() > 0)",
		"slice":           loop + ".slice(0, 99999).size() > 0)",
		"reverse":         loop + ".reverse().size() > 0)",
		"sort":            loop + ".sort().size() > 0)",
		"split":           "lists.range(1000).all(x, self.text.split('').size() > 0)",
		"flatten":         large + ".flatten(50).size() == 0",
		"equal":           large + " == " + large,
		"not equal":       large + " != " + large,
		"add lists":       chain("[[1]]", "x + x", 30) + "[0].size() > 0",
		"in":              large + " in [" + large + "]",
		"distinct":        "[" + large + "," + large + "].distinct().size() == 0",
		"distinct many":   "lists.range(100000).map(x, [x]).distinct().size() == 0",
		"index of":        "self.text.indexOf(self.text.substring(1)) == 0",
		"last index of":   "self.text.lastIndexOf(self.text.substring(1)) == 0",
		"regexp":          "'a'.matches('((a{30}){30}){30}')",
		"regexp classes":  "'a'.matches('" + strings.Repeat(`\\pL`, 20000) + "')",
		"regexp computed": "'a'.matches(['((a{30}){30}){30}'][0])",
		"nested loops":    square + "lists.range(1000))).size() == 0",
		"maps":            square + "{'a': a, 'b': b})).size() == 0",
		"lists":           square + "[a, b, a, b])).size() == 0",
		"numbers":         square + "string(a * 1000 + b))).size() == 0",
		"filtered":        "lists.range(1000).filter(a, lists.range(1000).filter(b, false) != [])",
		"quote":           "lists.range(1000).all(x, strings.quote(self.text) != '')",
		"optional":        "[optional.of(" + large + ")] == [optional.of(" + large + ")]",
		"absorbed": strings.Repeat("lists.range(100000).map(x, '').join("+text+") == '' || ", 50) +
			"true",
	} {
		t.Run(name, func(t *testing.T) {
			allocated, err := evaluate(t, expression)
			if err == nil {
				t.Error("the evaluation ended without an error")
			}
			if allocated > most {
				t.Errorf("it allocated %d MiB, more than %d (%v)", allocated>>20, most>>20, err)
			}
			t.Logf("%d MiB: %.200v", allocated>>20, err)
		})
	}
}

// TestLinear compares the costs of loops over lists of two lengths: they are in proportion.
func TestLinear(t *testing.T) {
	for _, expression := range []string{
		"lists.range(%d).map(x, [x]).size() > 0",
		"lists.range(%d).filter(x, false).size() == 0",
		"lists.range(%d).map(x, string(x)).join(',') != ''",
		"lists.range(%d).exists(x, x < 0) || true",
	} {
		few := cost(t, fmt.Sprintf(expression, 10_000))
		many := cost(t, fmt.Sprintf(expression, 20_000))
		if many > few*2+few/10 {
			t.Errorf("%s: %d values cost %d, twice as many %d", expression, 10_000, few, many)
		}
	}
}

// cost returns the cost of an expression.
func cost(t *testing.T, expression string) uint64 {
	t.Helper()
	env := newEnv(t)
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		t.Fatal(err)
	}
	run, err := program.plan()
	if err != nil {
		t.Fatal(err)
	}
	if value, _, err := run.Eval(map[string]any{"self": map[string]any{}}); value != types.True {
		t.Fatal(expression, value, err)
	}
	return run.cost
}

// TestHonest compares values and errors with those of the library.
func TestHonest(t *testing.T) {
	self := map[string]any{
		"name": "web", "items": []any{"b", "a", "c"}, "count": int64(3), "ratio": 0.5,
		"conditions": []any{
			map[string]any{"type": "Ready", "status": "True"},
			map[string]any{"type": "Synced", "status": "False"},
		},
	}
	env := newEnv(t)
	for _, expression := range []string{
		"self.name == 'web' && self.count == 3.0 && self.ratio != 1",
		"self.missing == 'x'", "self.missing == 'x' || self.name == 'web'",
		"has(self.name) && !has(self.missing)", "self.?missing.orValue('none') == 'none'",
		"self.?name.hasValue() && self.?name.optMap(x, x + '!').orValue('') == 'web!'",
		"self.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
		"self.conditions.all(c, c.status == 'True')",
		"self.conditions.exists_one(c, c.type == 'Ready')",
		"self.conditions.filter(c, c.status == 'True').map(c, c.type) == ['Ready']",
		"self.conditions.map(c, c.status == 'True', c.type).join('-') == 'Ready'",
		"self.items.sort().join(',') == 'a,b,c'", "self.items.sortBy(x, x)[0] == 'a'",
		"'a' in self.items && 'name' in self && !('x' in ['a', 'b'])",
		"'%s has %d'.format([self.name, self.count]) == 'web has 3'",
		"self.name.matches('^w.b$') && self.name.matches(self.name)", "self.items[5] == 'x'",
		"(self.count > 2 ? self.items : []).size() == 3", "dyn(self.count) + 1 == 4",
		"[1, 2] + [3] == [1, 2, 3] && {'a': 1}.a == 1",
		"(self.items + [] + ['d'] + self.items)[3] == 'd'", "[] + self.items == self.items",
		"dyn(self.items) + 1 == []", "type(self.items + self.items) == list",
		"self.all(k, k != '')", "self.conditions[0].exists(k, k == 'type')",
		"self.conditions[self.items.size() - 3].map(k, k).sort() == ['status', 'type']",
		"(self.count > 2 ? self : {}).exists(k, k == 'name')", "self.name.all(x, true)",
		"self.?name.optMap(x, {x: 1}).orValue({}).exists(k, k == 'web')",
		"self.missing.all(x, true)", "{'a': {'b': 1}}.a.map(k, k) == ['b']", "self.count / 0 == 1",
		"timestamp('2020-01-01T00:00:00Z') + duration('1h') > timestamp('2020-01-01T00:00:00Z')",
		"self.items.distinct().reverse().flatten().slice(0, 1) == ['c']", "self.count.foo() == 1",
	} {
		ast, issues := env.Compile(expression)
		if issues.Err() != nil {
			continue
		}
		plain, err := env.Env.Program(ast)
		if err != nil {
			t.Fatal(err)
		}
		program, err := env.Program(ast)
		if err != nil {
			t.Fatal(err)
		}
		want, _, wantErr := plain.Eval(map[string]any{"self": self})
		for range 2 {
			got, err := program.Eval(map[string]any{"self": self})
			if fmt.Sprint(got, err) != fmt.Sprint(want, wantErr) {
				t.Errorf("%s: %v %v, want %v %v", expression, got, err, want, wantErr)
			}
		}
	}
}

// evaluate returns the bytes that compiling and evaluating an expression allocated, and its error.
func evaluate(t *testing.T, expression string) (bytes uint64, err error) {
	t.Helper()
	env := newEnv(t)
	self := map[string]any{"text": strings.Repeat("abc,", 100_000)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = run(env, expression, self)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, err
}

func run(env *Env, expression string, self any) error {
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		return issues.Err()
	}
	program, err := env.Program(ast)
	if err != nil {
		return err
	}
	result, err := program.Eval(map[string]any{"self": self})
	if err == nil && result != types.True {
		return fmt.Errorf("it returns %v", result)
	}
	return err
}

func newEnv(t *testing.T) *Env {
	t.Helper()
	env, err := NewEnv(testLimit, cel.Variable("self", cel.DynType), cel.OptionalTypes(),
		cel.CrossTypeNumericComparisons(true), ext.Strings(), ext.Lists())
	if err != nil {
		t.Fatal(err)
	}
	return env
}
