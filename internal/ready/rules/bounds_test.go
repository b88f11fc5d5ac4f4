package rules

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/ready"
)

// TestBounds judges an object by rules whose expressions make hundreds of MB of a few characters.
// Each ends before it has allocated that, and its object is in progress.
func TestBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it is concurrent")
	}
	const most = 150 << 20
	text := `'` + strings.Repeat("a", 1000) + `'`
	data, conditions := map[string]any{}, []any{}
	for i := range 20_000 {
		data[strconv.Itoa(i)] = "x"
		conditions = append(conditions, map[string]any{"type": "A"})
	}
	for name, expression := range map[string]string{
		"replace": text + ".replace('a', " + text + ").replace('a', " + text[:400] + "') == ''",
		"join":    "lists.range(20000).map(x, '').join(" + text + ") == ''",
		"format": "'%s'.format([[[1]]" + strings.Repeat(".map(x, [x, x])", 22) +
			"]) == ''",
		"flatten": "[[1]]" + strings.Repeat(".map(x, [x, x])", 22) + ".flatten(30).size() == 0",
		"condition": "condition(dyn([[1, 2]]" + strings.Repeat(".map(a, a + a)", 24) +
			"[0]), 'Ready').status == 'True'",
		"conditions": "lists.range(10000).all(i, condition(self, 'Ready').status == '')",
		"sums": "[lists.range(150000)]" +
			strings.Repeat(".map(a, a"+strings.Repeat(" + [1]", 10)+")", 20) +
			".map(x, x == x)[0]",
		"distinct": "[lists.range(400)].map(b, lists.range(400).map(i, b + [i]))[0]" +
			".distinct().size() == 400",
		"loops":        "lists.range(30000).all(i, self.data.exists(k, true))",
		"loops by key": "lists.range(30000).all(i, self[['data'][0]].exists(k, true))",
		"loops over choice": "lists.range(30000).all(i, (i < 0 ? {} : self.data)" +
			".exists(k, true))",
		"compact":  "compact([[1]]" + strings.Repeat(".map(x, [x, x])", 22) + ") == []",
		"compiled": "'a'.matches('" + strings.Repeat(`(a{30}){30}`, 1000) + "')",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			rules, err := Parse("rules.yaml", []byte(
				"- group: \"\"\n  kind: Service\n  current: \""+expression+"\"\n"))
			if err == nil {
				obj := &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "x"},
					"data":   data,
					"status": map[string]any{"phase": "x", "conditions": conditions},
				}}
				if s := ready.Of(obj, rules...); s.State != ready.InProgress ||
					!strings.Contains(s.Message, "too much time or memory") {
					t.Errorf("the status is %+v", s)
				}
			}
			runtime.ReadMemStats(&after)
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > most {
				t.Errorf("%d MiB were allocated, more than %d", allocated>>20, most>>20)
			}
		})
	}
}

// TestMessageBounds judges an object whose rule has a message of 200 kB.
func TestMessageBounds(t *testing.T) {
	rules, err := Parse("rules.yaml", []byte("- group: \"\"\n  kind: Service\n"+
		"  current: 'false'\n  message: "+
		"\"lists.range(20000).map(x, 'ten chars.').join()\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "x"},
	}}
	s := ready.Of(obj, rules...)
	if len(s.Message) > 40_000 || !strings.HasPrefix(s.Message, "ten ") {
		t.Errorf("the message has %d bytes", len(s.Message))
	}
}

// TestTooManyRules reads a file with more rules than may be compiled.
func TestTooManyRules(t *testing.T) {
	rule := "- {group: a, kind: B, current: self.ok}\n"
	if _, err := Parse("rules.yaml", []byte(strings.Repeat(rule, maxRules))); err != nil {
		t.Error(err)
	}
	_, err := Parse("rules.yaml", []byte(strings.Repeat(rule, maxRules+1)))
	if err == nil || err.Error() != "rules.yaml:1001: more than 1000 rules" {
		t.Error(err)
	}
}
