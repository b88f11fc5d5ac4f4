package jsonvalue

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func TestEqual(t *testing.T) {
	for _, tc := range []struct {
		a, b  any
		equal bool
	}{
		{nil, nil, true},
		{nil, "", false},
		{"a", "a", true},
		{true, false, false},
		{int64(1), float64(1), true},
		{int64(1), int32(1), true},
		{1, 1.5, false},
		{0.0, math.Copysign(0, -1), true},
		{float64(0), int64(0), true},
		{int64(1 << 60), float64(1 << 60), true},
		{int64(1<<53 + 1), float64(1 << 53), false},
		{int64(math.MaxInt64), float64(math.MaxInt64), false},
		{uint64(1 << 63), float64(1 << 63), true},
		{uint64(7), int64(7), true},
		{1e300, 1e300, true},
		{int64(1), "1", false},
		{"1", int64(1), false},
		{map[string]any{"a": int64(1)}, map[string]any{"a": 1.0}, true},
		{map[string]any{"a": nil}, map[string]any{"b": nil}, false},
		{map[string]any{}, map[string]any(nil), false},
		{[]any{"a", nil}, []any{"a", nil}, true},
		{[]any{"a"}, []any{"a", nil}, false},
		{[]any{"a"}, map[string]any{"0": "a"}, false},
	} {
		for _, pair := range [][2]any{{tc.a, tc.b}, {tc.b, tc.a}} {
			if got := Equal(pair[0], pair[1]); got != tc.equal {
				t.Errorf("Equal(%#v, %#v) = %t", pair[0], pair[1], got)
			}
			if (Hash(pair[0]) == Hash(pair[1])) != tc.equal && !isNilMap(pair) {
				t.Errorf("the hashes of %#v and %#v: equal = %t", pair[0], pair[1], !tc.equal)
			}
		}
	}
}

// isNilMap reports whether two values are maps without content, one of them null: all maps without
// content have one hash.
func isNilMap(pair [2]any) bool {
	a, isMap := pair[0].(map[string]any)
	b, both := pair[1].(map[string]any)
	return isMap && both && len(a)+len(b) == 0
}

func TestWalk(t *testing.T) {
	for _, tc := range []struct {
		name     string
		old, new string
		options  Options
		want     []string
	}{
		{name: "equal", old: `{"a":[1,{"b":null}]}`, new: `{"a":[1.0,{"b":null}]}`},
		{name: "keys in order", old: `{"z":1,"a":{"x y":1}}`, new: `{"z":2,"b":0,"a":{"x y":2}}`,
			want: []string{`~ .a["x y"] 1 2`, "+ .b 0", "~ .z 1 2"}},
		{name: "null and absent differ", old: `{"a":null}`, new: `{}`, want: []string{"- .a <nil>"}},
		{name: "null is absent", old: `{"a":null,"b":1,"d":[null]}`,
			new: `{"b":null,"c":null,"d":[1,null]}`, options: Options{NullIsAbsent: true},
			want: []string{"- .b 1", "~ .d[0] <nil> 1", "+ .d[1] <nil>"}},
		{name: "by index", old: `[{"name":"a"},1,2]`, new: `[{"name":"b"}]`,
			want: []string{"~ [0].name a b", "- [1] 1", "- [2] 2"}},
		{name: "as value", old: `{"a":[1]}`, new: `{"a":[2]}`, options: Options{Lists: AsValue},
			want: []string{"~ .a [1] [2]"}},
		{name: "by name", options: Options{Lists: ByName},
			old: `[{"name":"a","v":1},{"name":"b"},{"name":"c c"}]`,
			new: `[{"name":"b"},{"name":"a","v":2},{"name":"d"}]`,
			want: []string{"~ [name=a].v 1 2", `- [name="c c"] map[name:c c]`, "+ [name=d] map[name:d]",
				"~ [*].name [a b] [b a]"}},
		{name: "names that repeat", options: Options{Lists: ByName},
			old: `[{"name":"a","key":"1"},{"name":"a","key":"2"}]`, new: `[{"key":"2"},{"key":"1"}]`,
			want: []string{"- [key=1].name a", "- [key=2].name a", "~ [*].key [1 2] [2 1]"}},
		{name: "a map on one side", old: `{}`, new: `{"a":{"b":{"c":1},"d":{}}}`,
			want: []string{"+ .a map[b:map[c:1] d:map[]]"}},
		{name: "expanded", old: `{"e":{"f":1}}`, new: `{"a":{"b":{"c":1},"d":{}}}`,
			options: Options{ExpandMaps: true}, want: []string{"+ .a.b.c 1", "+ .a.d map[]", "- .e.f 1"}},
		{name: "another type", old: `{"a":{}}`, new: `{"a":[]}`, want: []string{"~ .a map[] []"}},
		{name: "the root", old: `1`, new: `"1"`, want: []string{"~  1 1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, d := range Differences(decode(t, tc.old), decode(t, tc.new), tc.options) {
				got = append(got, line(d))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The paths of differences that are deep, or behind a long key, would be larger than the values by
// far.
func TestWalkInBounds(t *testing.T) {
	wide := func(value int) any {
		fields := map[string]any{}
		for i := range 10_000 {
			fields[fmt.Sprint("v", i)] = value
		}
		return map[string]any{strings.Repeat("k", 50_000): fields}
	}
	deep := func(value int) any {
		inner := any(value)
		for range 9_000 {
			inner = map[string]any{"a": []any{inner}, "b": value}
		}
		return inner
	}
	for name, pair := range map[string][2]any{"wide": {wide(1), wide(2)}, "deep": {deep(1), deep(2)}} {
		for _, options := range []Options{{}, {Lists: ByName}, {ExpandMaps: true}} {
			size := 0
			Walk(pair[0], pair[1], options, func(d Difference) { size += len(d.Path.String()) })
			if size == 0 || size > 100<<20 {
				t.Errorf("%s, %+v: the paths have %d bytes", name, options, size)
			}
		}
	}
}

func line(d Difference) string {
	switch {
	case !d.InOld:
		return fmt.Sprintf("+ %s %v", d.Path, d.New)
	case !d.InNew:
		return fmt.Sprintf("- %s %v", d.Path, d.Old)
	}
	return fmt.Sprintf("~ %s %v %v", d.Path, d.Old, d.New)
}

func decode(t testing.TB, text string) any {
	t.Helper()
	var value any
	if err := utiljson.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// FuzzWalk feeds two JSON values: a walk finds nothing if and only if the values are equal, and as
// much in one direction as in the other.
func FuzzWalk(f *testing.F) {
	f.Add([]byte(`{"a":[{"name":"x"},1]}`), []byte(`{"a":[{"name":"x","b":null}]}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var old, new any
		if utiljson.Unmarshal(a, &old) != nil || utiljson.Unmarshal(b, &new) != nil {
			t.Skip()
		}
		for _, lists := range []Lists{ByIndex, ByName, AsValue} {
			there := Differences(old, new, Options{Lists: lists})
			back := Differences(new, old, Options{Lists: lists})
			if (len(there) == 0) != Equal(old, new) || len(there) != len(back) {
				t.Errorf("lists %d: there %v, back %v", lists, there, back)
			}
			paths := func(ds []Difference) []string {
				var all []string
				for _, d := range ds {
					all = append(all, strings.TrimSpace(d.Path.String()))
				}
				slices.Sort(all)
				return all
			}
			if diff := cmp.Diff(paths(there), paths(back)); diff != "" {
				t.Errorf("paths (-there +back):\n%s", diff)
			}
		}
	})
}
