package diff_test

import (
	"testing"

	"github.com/muster-deploy/muster/internal/diff"
)

// TestEmptyMaps takes the content out of maps that an apply would remove with it, or set to null.
func TestEmptyMaps(t *testing.T) {
	for _, tc := range []struct {
		name, kind, want, live, mine, others, patch string
	}{
		{"emptied", "example.com/v1", "{a: {}}", "{a: {b: 1, c: 2}}",
			"f:a: {f:b: {}, f:c: {}}", "", `{"spec":{"a":{"b":null,"c":null}}}`},
		{"within", "example.com/v1", "{a: {c: {}}}", "{a: {c: {b: 1}}}",
			"f:a: {f:c: {f:b: {}}}", "", `{"spec":{"a":{"c":{"b":null}}}}`},
		{"of others", "example.com/v1", "{a: {}}", "{a: {b: 1, c: 2}}",
			"f:a: {f:b: {}}", "f:a: {f:c: {}}", ""},
		{"shared", "example.com/v1", "{a: {}}", "{a: {b: 1}}", "f:a: {f:b: {}}", "f:a: {f:b: {}}", ""},
		{"of nobody", "example.com/v1", "{a: {}}", "{a: {b: 1, c: 2}}", "f:a: {f:b: {}}", "", ""},
		{"as a whole", "example.com/v1", "{a: {}}", "{a: {b: 1}}", "f:a: {}", "", ""},
		{"with content", "example.com/v1", "{a: {b: 1}}", "{a: {b: 1, c: 2}}",
			"f:a: {f:b: {}, f:c: {}}", "", ""},
		{"built in", "v1", "{dnsConfig: {}}", "{dnsConfig: {b: 1}}", "f:dnsConfig: {f:b: {}}", "", ""},
		{"in an item", "example.com/v1", "{l: [{name: x, a: {}}]}",
			"{l: [{name: z, a: {}}, {name: x, a: {b: 1}}]}",
			`f:l: {'k:{"name":"x"}': {.: {}, f:name: {}, f:a: {f:b: {}}}}`, "",
			`{"spec":{"l":[{"a":{},"name":"z"},{"a":{},"name":"x"}]}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			head := "{apiVersion: " + tc.kind + ", kind: Pod, metadata: {name: a}, spec: "
			want, live := objectOf(t, head+tc.want+"}"), objectOf(t, head+tc.live+"}")
			entry := func(manager, fields string) string {
				return "{manager: " + manager + ", operation: Apply, apiVersion: " + tc.kind +
					", fieldsV1: {f:spec: {" + fields + "}}}"
			}
			owned := objectOf(t, "{apiVersion: v1, kind: X, metadata: {name: a, managedFields: ["+
				entry("me", tc.mine)+","+entry("other", tc.others)+"]}}")
			live.SetManagedFields(owned.GetManagedFields())
			patch, err := diff.EmptyMaps(want, live, diff.Applier{Manager: "me"})
			if err != nil || string(patch.Data) != tc.patch {
				t.Errorf("%s, %v; want %s", patch.Data, err, tc.patch)
			}
		})
	}
}
