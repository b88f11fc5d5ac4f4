package diff_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
)

func TestSecretTexts(t *testing.T) {
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"data": map[string]any{
			"pin": "MTIzNA==", "short": "MTIz", "key": "bGluZSBvbmUKbGluZSB0d28K",
		},
		"stringData": map[string]any{"token": "hunter2", "quoted": `a"<b&\c"`},
	}}
	config := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"name": "shop"},
	}}
	mask := diff.SecretTexts(secret, config, nil)
	for text, want := range map[string]string{
		"pin 1234 is wrong":                                "pin *** is wrong",
		"pin 123 is wrong":                                 "pin 123 is wrong",
		"MTIzNA== is refused":                              "*** is refused",
		"begin line two end":                               "begin *** end",
		"token=hunter2":                                    "token=***",
		"token=aHVudGVyMg==":                               "token=***",
		"the shop cannot be found":                         "the shop cannot be found",
		`is a"<b&\c"`:                                      "is ***",
		`{"quoted":"a\"<b&\\c\""}`:                         `{"quoted":"***"}`,
		`"{\"quoted\":\"a\\\"<b&\\\\c\\\"\"}"`:             `"{\"quoted\":\"***\"}"`,
		`{"quoted":"a\"\u003cb\u0026\\c\""}`:               `{"quoted":"***"}`,
		`"{\"quoted\":\"a\\\"\\u003cb\\u0026\\\\c\\\"\"}"`: `"{\"quoted\":\"***\"}"`,
	} {
		if got := mask.Replace(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// A Secret with very many short lines must not take many times its size.
func TestMemoryOfSecretTexts(t *testing.T) {
	random, data := rand.New(rand.NewPCG(1, 2)), bytes.Repeat([]byte("12345\n"), 170_000)
	for i, b := range data {
		if b != '\n' {
			data[i] = byte('!' + random.IntN(200))
		}
	}
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"data": map[string]any{"a": base64.StdEncoding.EncodeToString(data)},
	}}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	mask := diff.SecretTexts(secret)
	text := fmt.Sprintf("it is %s", data[600:605])
	if got := mask.Replace(text); got != "it is ***" {
		t.Errorf("%q is %q", text, got)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if took := int64(after.HeapAlloc) - int64(before.HeapAlloc); took > 30<<20 {
		t.Errorf("1 MB of lines take %d MiB", took>>20)
	}
	runtime.KeepAlive(mask)
}

// A masker does what a replacer does that has the longest texts first.
func TestMaskerReplaces(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	word := func(least, most int) string {
		text := make([]byte, least+random.IntN(most-least))
		for i := range text {
			text[i] = "abc"[random.IntN(3)]
		}
		return string(text)
	}
	for range 300 {
		data, lines := map[string]any{}, []string{}
		for i := range random.IntN(20) {
			line := word(4, 9)
			data[fmt.Sprint(i)], lines = line, append(lines, line)
		}
		slices.SortFunc(lines, func(a, b string) int { return len(b) - len(a) })
		var pairs []string
		for _, line := range lines {
			pairs = append(pairs, line, "***")
		}
		mask := diff.SecretTexts(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "stringData": data,
		}})
		text := word(0, 100)
		if got, want := mask.Replace(text), strings.NewReplacer(pairs...).Replace(text); got != want {
			t.Fatalf("%q without %q: got %q, want %q", text, lines, got, want)
		}
	}
}
