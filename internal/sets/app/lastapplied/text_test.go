package lastapplied

import (
	"math/rand/v2"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"
)

// TestText compares with the library whatever may look like something else than it is.
func TestText(t *testing.T) {
	words := []any{
		"",
		"a",
		"y",
		"Y",
		"N",
		"yes",
		"NO",
		"on",
		"Off",
		"True",
		"null",
		"~",
		"nan",
		".nan",
		"NaN",
		"Inf",
		"-inf",
		"<<",
		"=",
		"x=y",
		"10.0.0.1",
		"1.2.3",
		"1.2",
		"1.2.3.4.5",
		"25%",
		"2.5%",
		"%",
		"1e3",
		"0x1F",
		"0b1",
		"0o7",
		"1_000",
		"12:30:45",
		"2026-11-21",
		"2026-11-21T09:26:10Z",
		"a b",
		"a: b",
		"a #b",
		"#a",
		"- a",
		"-",
		"-a",
		"--",
		"---",
		"...",
		"a.",
		"a-",
		"a_",
		"_a",
		"?",
		"? a",
		"?a",
		"a?",
		"/",
		"//",
		"/a~1b~0",
		"/a?",
		"a~",
		"!a",
		"&a",
		"*a",
		"@a",
		"`a",
		"'a",
		"\"a",
		"{a",
		"[a",
		"a,b",
		"a\nb",
		"a\n",
		" a",
		"a ",
		"\ta",
		"ä",
		"/ä",
		"a\u00a0",
		"\x00",
		"\xff",
		"|",
		">",
		"%a",
		"a%",
		"/%",
		"1%%",
		"%1",
		"1.2.3.4%",
		"1-2",
		int64(
			0,
		),
		int64(-5),
		int64(1000000),
		1e6,
		0.5,
		1e19,
		true,
		false,
		nil,
		[]any{},
		map[string]any{},
		strings.Repeat("long", 60),
		"k8s.io",
		"Cluster",
		"kubernetes.io/x",
		"IPv4",
	}
	for _, word := range words {
		check(t, operation{Type: "test", Path: "/a", Value: &word})
		if path, ok := word.(string); ok {
			check(t, operation{Type: "test", Path: "/" + path, Absent: true})
			check(t, operation{Type: "remove", Path: path})
			nested := any(map[string]any{path: "x", "b": []any{path, int64(1)}})
			check(t, operation{Type: "test", Path: "/a", Value: &nested})
		}
	}
	check(t)
	r := rand.New(rand.NewPCG(1, 1))
	keys := []string{"a", "B", "ab", "aB", "abc", "n", "x1", "x10", "x2", "a-b", "a/b", "Ab"}
	var random func(depth int) any
	random = func(depth int) any {
		switch r.IntN(5) {
		case 0:
			fields := map[string]any{}
			for range r.IntN(depth + 1) {
				fields[keys[r.IntN(len(keys))]] = random(depth - 1)
			}
			return fields
		case 1:
			items := make([]any, r.IntN(depth+1))
			for i := range items {
				items[i] = random(depth - 1)
			}
			return items
		}
		return []any{"Always", "x", int64(3), true, "1.2.3.4", words[r.IntN(len(words))]}[r.IntN(6)]
	}
	for range 5000 {
		value := random(4)
		check(
			t,
			operation{Type: "test", Path: "/a/0", Value: &value},
			operation{Type: "replace", Path: "/a/-", Value: &value},
		)
	}
}

func check(t *testing.T, ops ...operation) {
	t.Helper()
	want, wantErr := yaml.Marshal(ops)
	got, err := text(ops)
	if string(got) != string(want) || (err == nil) != (wantErr == nil) {
		t.Errorf("got %q (%v), want %q (%v)", got, err, want, wantErr)
	}
}
