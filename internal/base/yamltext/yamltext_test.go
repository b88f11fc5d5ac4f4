package yamltext

import (
	"fmt"
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestMarshal: strings with any character can be written, and are read as they were.
func TestMarshal(t *testing.T) {
	for r := rune(0); r <= 0x10ffff; r++ {
		if r == 0x3000 {
			r = 0xd7f0
		}
		if r == 0xd800 {
			r = 0xe000
		}
		if r == 0xe010 {
			r = 0xfe00
		}
		if r == 0x10010 {
			r = 0x10fff0
		}
		value := map[string]any{fmt.Sprintf("k%c", r): fmt.Sprintf("a%cb\n%c", r, r)}
		text, err := Marshal(value)
		if err != nil {
			t.Fatalf("%U: %v", r, err)
		}
		var read map[string]any
		if err := yaml.Unmarshal(text, &read); err != nil || !reflect.DeepEqual(read, value) {
			t.Fatalf("%U: %s is read as %q: %v", r, text, read, err)
		}
	}
	text, err := Marshal(map[string]any{"a": "x\x7f\u009b2J", "b": "plain", "c": 1.5})
	if want := "a: \"x\\x7F\\x9B2J\"\nb: plain\nc: 1.5\n"; string(text) != want || err != nil {
		t.Errorf("got %q, want %q: %v", text, want, err)
	}
}
