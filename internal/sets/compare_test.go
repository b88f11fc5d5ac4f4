package sets

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// Objects of two states are compared as their files have them; values of Secrets are not shown.
func TestCompareManifests(t *testing.T) {
	configMap := func(name, value string) described {
		return described{Desired: plan.Desired{Source: name + ".yaml", Object: &unstructured.Unstructured{
			Object: map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"key": value},
				"metadata": map[string]any{"name": name, "namespace": "shop"},
			},
		}}}
	}
	secret := func(name, field, value string, withheld error) described {
		obj := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", field: map[string]any{"password": value},
			"metadata": map[string]any{"name": name, "namespace": "shop"},
		}}
		return described{
			Desired: plan.Desired{Object: obj},
			stored:  &history.Object{Unstructured: obj, Withheld: withheld},
		}
	}
	unknown := errors.New("only a digest of its data was stored")
	c := compareManifests(
		[]described{
			configMap("same", "1"), configMap("changed", "1"), configMap("removed", "1"),
			secret("same", "stringData", "hunter", nil), secret("changed", "data", "aHVudGVy", nil),
			secret("unknown", "data", "aHVudGVy", nil),
		},
		[]described{
			configMap("added", "1"), configMap("changed", "2"), configMap("same", "1"),
			secret("same", "data", "aHVudGVy", nil), secret("changed", "stringData", "other", nil),
			secret("unknown", "data", "", unknown),
		})
	var b strings.Builder
	for _, d := range c.Differences {
		fmt.Fprintf(&b, "%s %s %s %s\n", d.Kind, d.Ref, d.Source, strings.Join(d.Notes, "; "))
		if d.Kind == diff.Changed {
			fmt.Fprintln(&b, diff.Between(d.Before, d.After, diff.Options{}))
		}
	}
	want := `added shop/configmap/added added.yaml 
changed shop/configmap/changed changed.yaml 
~ .data.key: "1" -> "2"
changed shop/secret/changed  
~ .data.password: "*** (before)" -> "*** (after)"
removed shop/configmap/removed removed.yaml 
`
	if b.String() != want || c.Equal != 2 {
		t.Errorf("%d are equal, the others:\n%s", c.Equal, b.String())
	}
	skipped := "the data of shop/secret/unknown: only a digest of its data was stored"
	if len(c.Skipped) != 1 || c.Skipped[0] != skipped {
		t.Errorf("skipped: %q", c.Skipped)
	}
	c.reverse()
	if d := c.Differences[0]; d.Kind != diff.Removed || d.Before == nil || d.After != nil ||
		d.Ref != (object.Ref{Kind: "ConfigMap", Namespace: "shop", Name: "added"}) {
		t.Errorf("reversed: %+v", d)
	}
}
