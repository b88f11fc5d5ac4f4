package changegraph

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// ruleForm is how a change rule is written.
const ruleForm = "(upsert|delete) (before|after) (upserting|deleting) GROUP"

// Explain returns the error of Read for a change group or rule with the annotation that has it, its
// value, and how it is written. If no annotation has it, err is returned.
func Explain(err error, obj *unstructured.Unstructured, conf Rules) error {
	all := obj.GetAnnotations()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		isRule := strings.HasPrefix(key, resource.AnnChangeRule)
		if !isRule && !strings.HasPrefix(key, resource.AnnChangeGroup) {
			continue
		}
		single := obj.DeepCopy()
		single.SetAnnotations(map[string]string{key: all[key]})
		if _, problem := Read(single, conf); problem == nil {
			continue
		}
		form := fmt.Sprintf("%q is not a change group; write a name such as example.com/database",
			all[key])
		if isRule {
			form = fmt.Sprintf("%q is not a change rule; write %s", all[key], ruleForm)
		}
		if strings.Contains(all[key], "{") {
			form += "; placeholders must have a value for the object"
		}
		return fmt.Errorf("annotation %s: %s", key, form)
	}
	return err
}
