package change

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/base/yamltext"
)

// sameYAML compares the text of marshal with that of sigs.k8s.io/yaml.
func sameYAML(t *testing.T, fields map[string]any) {
	t.Helper()
	want, err := yaml.Marshal(fields)
	if err != nil { // for characters that YAML does not allow
		want, err = yamltext.Marshal(fields)
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err := marshal(fields)
	if err != nil {
		t.Errorf("%q: error %v", fields, err)
	}
	if got != string(want) {
		data, _ := json.Marshal(fields)
		t.Errorf("%s: got\n%s\nwant\n%s", data, got, want)
	}
}

// oddTexts are strings that YAML quotes, folds or escapes, or not, for one reason or another.
var oddTexts = []string{
	"", " ", "a", "word", "two words", "true", "True", "TRUE", "tRue", "TRue", "nO", "yes", "Y",
	"on", "Null", "~", "null", "nullable", "NaN", ".nan", ".inf", "-.inf", "inf", "0", "1",
	"007", "08", "0x1f", "0o7", "0b1", "1_000", "12345678901234567890", "1.5", "1.", ".5", "1e6",
	"1E-6", "+1", "-1", "-1.5", "1.2.3", "10.0.0.1", "1:30", "12:30:45", "80:80", "2Gi", "100m",
	"1d", "0xg", "3a", "3e", "2006-01-02", "2006-01-02T15:04:05Z", "2006-99-02T15:04:05Z",
	"2006-01-02 15:04:05", "2006-1-2x", "1999", "1999-", "-", "--", "---", "--flag", "-f", "-1f",
	"- a", "-a b", "--a=b c", "...", "..", "./a", "/a/b", "?", "? a", "?a", ":", ":a", ": a",
	"a:", "a: b", "a:b", "a #b", "a#b", "#a", "*a", "&a", "!a", "%a", "@a", "`a", "{a}", "[a]",
	"]", "}", "a,b", ",a", "|a", ">a", "'a'", "it's", "'it's", `"a"`, `say "a"`, `\a`, `a\b`,
	"$(A)", "(a)", "^a$", "_a", ";a", "=", "=a", "<", "<<", "a<b", "a&b", "~a", " a", "a ", " 1",
	"1 ", " true", "true ", "5: x", "5 #x", "ü: x", "éé é", "a  b", "a\tb", "\t", "a\nb",
	"a\nb\n", "a\nb\n\n", "a\n\nb\n", "\n", "\na", " a\nb", "a \nb", "a\nb ", "a\n  b\n",
	"a\n b\nc", "a\r\nb", "a\n\tb\n", "x\n# y\n", "ü", "a\nü\n", "日本", "a\u0085b", "a\u2028b",
	"\ufeff", "a\x00b", "a\x7fb", "\xff", "a\U0001f600", strings.Repeat("long ", 40),
	strings.Repeat("long ", 40) + "end", strings.Repeat("l", 200),
	strings.Repeat("two  spaces ", 20) + "x", "x: " + strings.Repeat("quoted ", 30) + "x",
	"'" + strings.Repeat("it's ", 30) + "x", "5 " + strings.Repeat("long ", 40) + "end",
	strings.Repeat("long ", 40) + "a: b", strings.Repeat("länger ", 40),
	" " + strings.Repeat("long ", 30), strings.Repeat("日本語 ", 40) + "x",
}

// TestMarshalTexts writes strings as keys, values and items, at several depths.
func TestMarshalTexts(t *testing.T) {
	for _, text := range oddTexts {
		sameYAML(t, map[string]any{"key": text})
		sameYAML(t, map[string]any{"map": map[string]any{"key": map[string]any{"inner": text, "b": "1"}}})
		sameYAML(t, map[string]any{"list": []any{text, "b"}})
		pair, nested := map[string]any{"first": text, "second": text}, []any{text, []any{text}}
		sameYAML(t, map[string]any{"list": []any{pair, nested}})
		deep := []any{[]any{[]any{text, "x"}, map[string]any{"deep": []any{text}}}}
		sameYAML(t, map[string]any{"a": map[string]any{"list": deep}})
		if text != "" {
			sameYAML(t, map[string]any{text: "value", "other": []any{map[string]any{text: text}}})
		}
	}
}

func TestMarshalValues(t *testing.T) {
	for _, value := range []any{
		nil, true, false, int64(0), int64(-5), int64(1 << 60), 1.5, 1e6, 1e21, math.Copysign(0, -1),
		map[string]any{}, []any{}, map[string]any(nil), []any(nil), 7, []string{"a"},
	} {
		sameYAML(t, map[string]any{"key": value})
		pair := map[string]any{"key": value, "b": value}
		sameYAML(t, map[string]any{"list": []any{value, pair, []any{value}}})
	}
	sameYAML(t, map[string]any{})
	sameYAML(t, nil)
}

// TestMarshalRandom writes random objects.
func TestMarshalRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune("aabbzzTn019--..//::  ##''\"\"{}[],&*!|>%@`?\\=~_$\n\n\t é")
	word := func() string {
		if random.IntN(3) == 0 {
			return oddTexts[random.IntN(len(oddTexts))]
		}
		var b strings.Builder
		for range random.IntN(12) * (1 + 20*(random.IntN(8)/7)) {
			b.WriteRune(alphabet[random.IntN(len(alphabet))])
		}
		return b.String()
	}
	var value func(depth int) any
	value = func(depth int) any {
		switch kind := random.IntN(8); {
		case kind == 0 && depth > 0:
			items := []any{}
			for range random.IntN(4) {
				items = append(items, value(depth-1))
			}
			return items
		case kind < 3 && depth > 0:
			fields := map[string]any{}
			for range random.IntN(3) { // the library has no fixed order for some sets of three
				fields[word()] = value(depth - 1)
			}
			return fields
		case kind == 3:
			return random.Int64N(1000)
		}
		return word()
	}
	for range 3000 {
		sameYAML(t, map[string]any{"a": value(4), "b": value(4)})
	}
}

func FuzzMarshal(f *testing.F) {
	for _, text := range oddTexts {
		data, err := json.Marshal(map[string]any{"key": text, "list": []any{text}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		var fields map[string]any
		if json.Unmarshal([]byte(text), &fields) == nil && fewKeys(fields) {
			sameYAML(t, fields)
		}
	})
}

// fewKeys reports whether no map within a value has more than two keys: the library has no fixed
// order for some sets of three.
func fewKeys(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			if !fewKeys(inner) {
				return false
			}
		}
		return len(value) < 3
	case []any:
		return !slices.ContainsFunc(value, func(inner any) bool { return !fewKeys(inner) })
	}
	return true
}

// BenchmarkMarshal compares marshal with sigs.k8s.io/yaml for one value of 4 MB, for 80,000 short
// values and for a typical object.
func BenchmarkMarshal(b *testing.B) {
	one, _ := bigger(true)
	many, _ := bigger(false)
	live, _, _ := fleet(b, 1, false)
	viaJSON := func(fields map[string]any) (string, error) {
		text, err := yaml.Marshal(fields)
		return string(text), err
	}
	for name, obj := range map[string]*unstructured.Unstructured{"value": one, "keys": many,
		"typical": live[0]} {
		for way, write := range map[string]func(map[string]any) (string, error){"direct": marshal,
			"json": viaJSON} {
			b.Run(name+"/"+way, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := write(obj.Object); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
