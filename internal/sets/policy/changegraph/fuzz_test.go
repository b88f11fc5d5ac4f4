package changegraph

import "testing"

// FuzzParseRule looks for rules that panic, or that are read without one of their parts.
func FuzzParseRule(f *testing.F) {
	for _, text := range []string{"", "upsert after upserting a", "upsert  after upserting a",
		"delete before deleting example.com/a", "upsert afer upserting a", "upsert after upserting "} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rule, err := ParseRule(text)
		if err == nil && (rule.Action == "" || rule.Target == "" || rule.Group == "") {
			t.Errorf("%q was read as %+v", text, rule)
		}
	})
}
