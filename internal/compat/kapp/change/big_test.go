package change

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/compat/kapp/textdiff"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
)

// bigger gives ConfigMaps of 4 MB that differ at both ends: with one text of many lines, or with
// many short texts.
func bigger(lines bool) (old, new *unstructured.Unstructured) {
	object := func(ends string) *unstructured.Unstructured {
		data := map[string]any{}
		var text strings.Builder
		for i := range 80_000 {
			line := fmt.Sprintf("line %06d of a text that is rather long, and no more", i)
			if i == 0 || i == 79_999 {
				line = ends
			}
			text.WriteString(line + "\n")
			if !lines {
				data[fmt.Sprintf("key-%06d", i)] = line
			}
		}
		if lines {
			data["file"] = text.String()
		}
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "big",
				"annotations": map[string]any{}}, "data": data,
		}}
	}
	return object("old"), object("new")
}

// shown returns the printed difference.
func shown(tb testing.TB, old, new *unstructured.Unstructured) string {
	tb.Helper()
	conf := config.Default()
	changes, err := Calculate(
		[]*unstructured.Unstructured{old}, []*unstructured.Unstructured{new}, conf, Options{},
	)
	if err != nil || len(changes) != 1 || changes[0].Op != Update {
		tb.Fatalf("%d changes: %v", len(changes), err)
	}
	before, after, err := changes[0].Texts(NewMasker(conf))
	if err != nil {
		tb.Fatal(err)
	}
	var b strings.Builder
	if err := textdiff.Write(&b, textdiff.Compare(before, after, false),
		textdiff.Format{Context: 2, Numbers: true}); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// TestBigObject bounds the memory that is allocated, in all, to show the difference of two objects
// of 4 MB.
func TestBigObject(t *testing.T) {
	for _, tc := range []struct {
		lines bool
		most  uint64 // MB
	}{{true, 80}, {false, 480}} {
		old, new := bigger(tc.lines)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		text := shown(t, old, new)
		runtime.ReadMemStats(&after)
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > tc.most {
			t.Errorf("lines %t: %d MB were allocated, at most %d are wanted", tc.lines, used, tc.most)
		}
		if strings.Count(text, " + ") != 2 || strings.Count(text, " - ") < 2 || len(text) > 2000 {
			t.Errorf("lines %t: the difference is\n%.2000s", tc.lines, text)
		}
	}
}

func BenchmarkBigObject(b *testing.B) {
	for _, lines := range []bool{true, false} {
		b.Run(fmt.Sprintf("lines=%t", lines), func(b *testing.B) {
			old, new := bigger(lines)
			b.ReportAllocs()
			for b.Loop() {
				shown(b, old, new.DeepCopy())
			}
		})
	}
}
