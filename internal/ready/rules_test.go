package ready

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRuleSet(t *testing.T) {
	says := func(message string) Rule {
		return Rule{
			Judge: func(*unstructured.Unstructured) Status {
				return Status{State: Failed, Message: message}
			},
		}
	}
	silent := Rule{Judge: func(*unstructured.Unstructured) Status { return Status{} }}
	at := func(group, kind string, rule Rule) Rule {
		rule.GroupKind = schema.GroupKind{Group: group, Kind: kind}
		return rule
	}
	set := NewRuleSet(
		at("example.com", "Widget", silent),
		at("*example.com", wildcard, says("any")),
		at("example.com", "Widget", says("widget")),
		at("db.example.com", wildcard, says("any db")),
		at("other.com", "Widget", says("other")),
	)
	for _, tc := range []struct {
		group, kind, want string
		rules             int
	}{
		{"example.com", "Widget", "any", 3},
		{"example.com", "Gadget", "any", 1},
		{"db.example.com", "Widget", "any", 2},
		{"other.com", "Widget", "other", 1},
		{"other.com", "Gadget", "Resource is current", 0},
		{"", "Widget", "Resource is current", 0},
	} {
		obj := &unstructured.Unstructured{
			Object: map[string]any{"apiVersion": tc.group + "/v1", "kind": tc.kind},
		}
		if got := set.Of(obj).Message; got != tc.want {
			t.Errorf("%s.%s: %s, want %s", tc.kind, tc.group, got, tc.want)
		}
		if got := len(set.For(schema.GroupKind{Group: tc.group, Kind: tc.kind})); got != tc.rules {
			t.Errorf("%s.%s: %d rules, want %d", tc.kind, tc.group, got, tc.rules)
		}
	}
}

func TestNoRuleSet(t *testing.T) {
	var none *RuleSet
	if got := none.Of(&unstructured.Unstructured{}).State; got != Current {
		t.Errorf("Of an object = %s", got)
	}
	if got := NewRuleSet().Of(nil).State; got != NotFound {
		t.Errorf("Of nothing = %s", got)
	}
	if got := none.For(schema.GroupKind{Kind: "Pod"}); got != nil {
		t.Errorf("For = %v", got)
	}
}

// TestFirstConsumer judges claims for whose class waiting is said to be usual.
func TestFirstConsumer(t *testing.T) {
	rule := FirstConsumer(func(class string) bool { return class == "delayed" })
	for _, tc := range []struct{ name, class, node, volume, phase, want string }{
		{"nobody uses it", "delayed", "", "", "Pending", "# Current: PVC is waiting for its " +
			"first consumer"},
		{"a pod has a node", "delayed", "node-1", "", "Pending", "# InProgress NotBound: PVC is " +
			"not Bound. phase: Pending"},
		{"it names a volume", "delayed", "", "disk-1", "Pending", "# InProgress NotBound: PVC is " +
			"not Bound. phase: Pending"},
		{"of another class", "immediate", "", "", "Pending", "# InProgress NotBound: PVC is not " +
			"Bound. phase: Pending"},
		{"bound", "delayed", "", "", "Bound", "# Current: PVC is Bound"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "PersistentVolumeClaim",
				"metadata": map[string]any{
					"annotations": map[string]any{"volume.kubernetes.io/selected-node": tc.node},
				},
				"spec":   map[string]any{"storageClassName": tc.class, "volumeName": tc.volume},
				"status": map[string]any{"phase": tc.phase},
			}}
			if diff := cmp.Diff(tc.want, line(Of(obj, rule))); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}
