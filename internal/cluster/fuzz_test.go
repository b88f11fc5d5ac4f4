package cluster

import "testing"

// FuzzDiscovery looks for answers about the kinds of the server that panic, or that give a resource
// without a kind.
func FuzzDiscovery(f *testing.F) {
	for _, text := range []string{"", "{}", "null", `{"versions": ["v1"]}`,
		`{"groups": [{"name": "apps", "versions": [{"version": "v1"}]}]}`,
		`{"items": [{"metadata": {"name": "apps"}, "versions": [{"version": "v1", ` +
			`"freshness": "Stale", "resources": [{"resource": "deployments", ` +
			`"responseKind": {"kind": "Deployment"}, ` +
			`"scope": "Namespaced", "verbs": ["list"]}]}]}]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = parseLegacy(text)
		offers, err := parseAggregated(text)
		if err != nil {
			return
		}
		for _, offer := range offers {
			for _, r := range offer.resources {
				if r.kind == "" {
					t.Errorf("%v has no kind", r)
				}
			}
		}
	})
}

// FuzzDecode looks for answers that panic, or that are decoded to no object.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{"", "{}", "null", "[]", `{"a": 1e400}`,
		`{"a": 9223372036854775808}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if fields, err := decode(text); err == nil && fields == nil {
			t.Errorf("%q was decoded to nothing", text)
		}
	})
}
