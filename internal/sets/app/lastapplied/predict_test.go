package lastapplied

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestPredict has, in each archive, an object that was created (v1), the answer of a server of
// Kubernetes 1.36 (answer1), the object a moment later (live), a second version of it (v2), and the
// answer to the update (answer2). The last three are missing where an object cannot be updated. The
// output is the number of writes, of the update once with a correct record on the live object and
// once without, and what was not predicted.
func TestPredict(t *testing.T) {
	golden.Run(
		t,
		"testdata/predict-*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			v1, answer1 := read(t, files["v1"]), read(t, files["answer1"])
			var out strings.Builder
			fmt.Fprintf(&out, "create: %s", writes(t, v1, v1, nil, answer1))
			if files["v2"] == "" {
				return map[string]string{"writes": out.String()}
			}

			live, v2, answer2 := read(t, files["live"]), read(t, files["v2"]), read(t, files["answer2"])
			sum, err := Fingerprint(answer1, v1, rules)
			if err != nil {
				t.Fatal(err)
			}
			known, err := Correction(live, v1, sum, rules)
			if err != nil {
				t.Fatal(err)
			}
			toSend, err := rules.Rebase(live, v2)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "update: %s", writes(t, toSend, v2, known, answer2))
			fmt.Fprintf(&out, "update without record: %s", writes(t, toSend, v2, live, answer2))
			return map[string]string{"writes": out.String()}
		},
	)
}

// writes returns the number of writes of an object, given the server's answer to the first.
func writes(t *testing.T, toSend, applied, existing, answer *unstructured.Unstructured) string {
	t.Helper()
	signed := annotated(t, toSend, applied, existing)
	stored := withoutAnnotations(answer)
	for _, key := range []string{resource.AnnIdentity, resource.AnnOriginal,
		resource.AnnOriginalDiffMD5} {
		value, _ := annotation(signed, key)
		setAnnotation(stored, key, value)
	}
	amended, err := amend(stored, applied, rules)
	if err != nil {
		t.Fatal(err)
	}
	if amended == nil {
		return "1\n"
	}
	left, right := predict(signed, existing, rules), stored.DeepCopy()
	for _, obj := range []*unstructured.Unstructured{left, right} {
		delete(obj.Object, "status")
		metadata := obj.Object["metadata"].(map[string]any)
		obj.Object["metadata"] = map[string]any{
			"labels":      metadata["labels"],
			"annotations": metadata["annotations"],
		}
	}
	text, err := yaml.Marshal(difference(left.Object, right.Object))
	if err != nil {
		t.Fatal(err)
	}
	return "2\n" + string(text)
}
