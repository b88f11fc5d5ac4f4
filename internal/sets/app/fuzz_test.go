package app

import "testing"

// FuzzMeta looks for records that panic, or that are read without a label: it would select the
// objects of others.
func FuzzMeta(f *testing.F) {
	for _, text := range []string{"", "{}", "null", `{"labelKey": "kapp.k14s.io/app"}`,
		`{"labelKey": "kapp.k14s.io/app", "labelValue": "1", "usedGKs": [{"Group": "apps", ` +
			`"Kind": "D"}], "lastChange": {"startedAt": "2026-01-01T00:00:00Z", "successful": true}}`,
		`{"startedAt": "yesterday", "namespaces": ["a"]}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := parseMeta(text); err == nil && (m.LabelKey == "" || m.LabelValue == "") {
			t.Errorf("%q was read without a label", text)
		}
		_, _ = parseDeployment(text)
	})
}
