package ready

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestCauses finds the causes for the object of each archive, with the objects of family.yaml.
func TestCauses(t *testing.T) {
	golden.Run(
		t,
		"testdata/causes/*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			var out strings.Builder
			family := NewRelatedObjects()
			for _, member := range documents(t, files["family.yaml"]) {
				family.Add(EvidenceOf(member, Of(member)))
			}
			for _, gone := range documents(t, files["gone.yaml"]) {
				family.Delete(object.RefOf(gone))
			}
			obj := documents(t, files["object.yaml"])[0]
			// Without such a section it is the zero time.
			changed, _ := time.Parse(time.RFC3339, strings.TrimSpace(files["changed"]))
			for _, c := range family.Causes(EvidenceOf(obj, Of(obj)), changed, time.Now()) {
				fmt.Fprintf(&out, "%s x%d: %s\n", c.Object, c.Count, c.Message)
				if c.Stuck {
					out.WriteString("    stuck\n")
				}
				if c.Certain {
					fmt.Fprintf(&out, "    certain, reports %d, once %t\n", c.Reports, c.Once)
				}
				if c.Replace {
					out.WriteString("    passes if the object is deleted\n")
				}
				if c.Missing.Name != "" {
					fmt.Fprintf(&out, "    missing %s\n", c.Missing)
				}
				if c.Delay > 0 {
					fmt.Fprintf(&out, "    printed after %s\n", c.Delay)
				}
				if c.Container != "" {
					fmt.Fprintf(&out, "    log of %s, previous %t\n", c.Container, c.Previous)
				}
			}
			return map[string]string{"causes": out.String()}
		},
	)
}

func documents(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), 4096)
	for {
		obj := &unstructured.Unstructured{}
		if err := decoder.Decode(&obj.Object); err == io.EOF {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		found = append(found, obj)
	}
}
