package packages

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/yamltext"
	"github.com/muster-deploy/muster/internal/show/view"
)

// planHeader is the start of a ResourceList with a plan.
const planHeader = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: kpt.dev/v1alpha1
  kind: Plan
  metadata:
    name: plan
    annotations:
      config.kubernetes.io/local-config: true
  spec:
    actions:`

// krmActions are the names of operations.
var krmActions = map[view.Verb]string{
	view.ToCreate:    "Create",
	view.ToConfigure: "Update",
	view.ToRecreate:  "Update",
	view.ToLeave:     "Unchanged",
	view.ToPrune:     "Delete",
	view.ToOrphan:    "Skip",
	view.ToKeep:      "Skip",
	view.ToSkip:      "Skip",
	view.ToFail:      "Error",
}

// PlanKRM prints the plan as a resource: a list of actions, each with the object before and after.
// The field apiVersion holds the group alone, as readers of the format expect. Secrets are masked.
func PlanKRM(out io.Writer, outlooks []view.Outlook) error {
	var b strings.Builder
	b.WriteString(planHeader)
	if len(outlooks) == 0 {
		b.WriteString(" []")
	}
	b.WriteString("\n")
	for _, o := range outlooks {
		if err := writeAction(&b, o); err != nil {
			return fmt.Errorf("%s: %w", o.Step.Ref, err)
		}
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

func writeAction(b *strings.Builder, o view.Outlook) error {
	fmt.Fprintf(b, "    - action: %s\n", krmActions[o.Verb()])
	before, after := o.BeforeAfter()
	fields := []struct {
		name  string
		value any
	}{
		{"apiVersion", o.Step.Ref.Group},
		{"error", nil},
		{"kind", o.Step.Ref.Kind},
		{"name", o.Step.Ref.Name},
		{"namespace", o.Step.Ref.Namespace},
		{"original", fieldsOf(before)},
		{"updated", fieldsOf(after)},
	}
	if o.Err != nil {
		fields[1].value = o.Err.Error()
	}
	for _, field := range fields {
		if err := writeField(b, field.name, field.value); err != nil {
			return err
		}
	}
	return nil
}

// fieldsOf returns the fields of an object for writeField, or nil.
func fieldsOf(obj *unstructured.Unstructured) any {
	if obj == nil {
		return nil
	}
	return obj.Object
}

// writeField writes a field of an action. An empty string is written without a value; nil is left
// out.
func writeField(b *strings.Builder, name string, value any) error {
	const indent = "      "
	if value == nil {
		return nil
	}
	if value == any("") {
		fmt.Fprintf(b, "%s%s:\n", indent, name)
		return nil
	}
	text, err := yamltext.Marshal(map[string]any{name: value})
	if err != nil {
		return fmt.Errorf("write the field %s as YAML: %w", name, err)
	}
	for line := range strings.Lines(string(text)) {
		b.WriteString(indent + line)
	}
	return nil
}
