package wire

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// texts are sound and unsound ones.
var texts = []string{
	`{}`, ` { "a" : [ ] , "b" : { } } `, `{"a":null,"b":true,"c":false}`, `{"a":"text","b":"","long":"` + strings.Repeat("x", 100) + `"}`,
	`{"int":1,"neg":-7,"zero":0,"minus":-0,"big":9223372036854775807,"bigger":9223372036854775808,"f":1.0,"e":1e3,"E":2E-2,"x":-0.5e+1}`,
	`{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00","b":"é😀","\u0061":1}`, "{\"a\":\"\xff\xfe\",\"\xff\":1}", `{"lone":"\ud800"}`,
	`{"a":1,"a":2}`, `{"a":[1,[2,[3,{"b":[]}]]]}`, `{"metadata":{"managedFields":[{"a":1}],"name":"x"},"spec":{"metadata":{"managedFields":[]}}}`,
	`{"metadata":[],"a":1}`, `{"metadata":"x"}`, `[]`, `"x"`, `1`, `null`, ``, ` `, `{`, `}`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{"a" 1}`,
	`{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":-}`, `{"a":1e}`, `{"a":1e999}`, `{"a":tru}`, `{"a":nul}`, `{"a":True}`, `{'a':1}`, `{a:1}`,
	`{"a":"x}`, "{\"a\":\"x\ny\"}", `{"a":"\x"}`, `{"a":"\u12"}`, `{"a":[1 2]}`, `{"a":[1,]}`, `{"a":[,1]}`, `{"a":[}`, `{"a":1} x`, `{"a":1}{}`, "{\"a\":\x00}",
	`{"a":"\`, `{"a":"`, "\ufeff{}", `{"a":+1}`, `{"a":1_000}`, `{"a":0x1}`, `{"a":Infinity}`, "{\"a\":1}\x00",
}

func FuzzObject(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want map[string]any
		wantErr := utiljson.Unmarshal([]byte(text), &want)
		got, err := Object([]byte(text), Whole)
		if wantErr == nil && want == nil {
			return // null, which is no object here
		}
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("%q: %v, the library %v", text, err, wantErr)
		}
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %v, the library %v", text, got, want)
		}
		lean, leanErr := Object([]byte(text), Lean)
		if err == nil && leanErr != nil {
			t.Fatalf("%q: lean: %v", text, leanErr)
		}
		if metadata, ok := want["metadata"].(map[string]any); ok && err == nil {
			delete(metadata, "managedFields")
		}
		if err == nil && !reflect.DeepEqual(lean, want) {
			t.Fatalf("%q: lean %v, want %v", text, lean, want)
		}
	})
}

func TestList(t *testing.T) {
	text := `{"kind":"PodList","metadata":{"continue":"c","managedFields":[]},"items":[
		{"metadata":{"name":"a","managedFields":[{"manager":"m","fieldsV1":{"f:a\"]":{}}}]}},{"items":[1]},{}]}`
	head, items, err := List([]byte(text), Lean)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"kind": "PodList", "metadata": map[string]any{"continue": "c", "managedFields": []any{}}}, head); diff != "" {
		t.Errorf("head (-want +got):\n%s", diff)
	}
	want := []map[string]any{{"metadata": map[string]any{"name": "a"}}, {"items": []any{int64(1)}}, {}}
	if diff := cmp.Diff(want, items); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	for _, text := range []string{`{}`, `{"items":null}`} {
		if _, items, err := List([]byte(text), Whole); err != nil || len(items) > 0 {
			t.Errorf("%s: %v, %v", text, items, err)
		}
	}
	for _, text := range []string{`[]`, `{"items":[1]}`, `{"items":[{]}`, `null`} {
		if _, _, err := List([]byte(text), Whole); err == nil {
			t.Errorf("%s is a list", text)
		}
	}
}

func TestEvent(t *testing.T) {
	for _, tc := range []struct{ text, kind, object string }{
		{`{"type":"ADDED","object":{"a":["]}",{"b":1.5}]}}`, "ADDED", `{"a":["]}",{"b":1.5}]}`},
		{" {\"object\" : { } , \"other\":[1,{}], \"type\":\"ERROR\"}\n", "ERROR", `{ }`},
		{`{"type":"BOOKMARK"}`, "BOOKMARK", ``},
	} {
		kind, object, err := Event([]byte(tc.text))
		if err != nil || kind != tc.kind || string(object) != tc.object {
			t.Errorf("%s: %q, %q, %v", tc.text, kind, object, err)
		}
	}
	for _, text := range []string{``, `[]`, `{"type":1,"object":{}}`, `{"type":"ADDED","object":{`, `{"type":"ADDED","object":}`, `{"type":"ADDED","object":{}} x`, `{"object":,}`} {
		if _, _, err := Event([]byte(text)); err == nil {
			t.Errorf("%s is an event", text)
		}
	}
}

func TestNesting(t *testing.T) {
	deep := func(n int) []byte { return []byte(`{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`) }
	if _, err := Object(deep(5000), Whole); err != nil {
		t.Error(err)
	}
	if _, err := Object(deep(20000), Whole); err == nil {
		t.Error("there is no limit to nesting")
	}
}

// What two objects have in common is kept once.
func TestTextsAreShared(t *testing.T) {
	p := start(nil, Whole)
	defer p.end()
	text, _ := p.share([]byte("example"))
	again, _ := p.share([]byte("example"))
	if strings.Clone(text) != again || len(text) == 0 {
		t.Fatal("a text changed")
	}
	count := testing.AllocsPerRun(100, func() { p.share([]byte("example")) })
	if count != 0 {
		t.Errorf("a text that was met before costs %v allocations", count)
	}
	if s, v := p.share(nil); s != "" || v != "" {
		t.Errorf("nothing is %q, %v", s, v)
	}
}

func BenchmarkObject(b *testing.B) {
	text := []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bench-00001","namespace":"n","uid":"1d2c7ad4-9a0a-4b5c-8a6f-3c5a3f6a1b2c","resourceVersion":"4711",
	"creationTimestamp":"2026-01-02T03:04:05Z","labels":{"app":"x","kapp.k14s.io/app":"1700000000000000000"},"annotations":{"edition":"1"},
	"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:key":{},"f:long":{}},"f:metadata":{"f:annotations":{".":{},"f:edition":{}}}}}]},
	"data":{"key":"value","long":"some text that a program reads"}}`)
	for name, read := range map[string]func(){
		"whole": func() { _, _ = Object(text, Whole) },
		"lean":  func() { _, _ = Object(text, Lean) },
		"library": func() {
			var v map[string]any
			_ = utiljson.Unmarshal(text, &v)
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				read()
			}
		})
	}
}
