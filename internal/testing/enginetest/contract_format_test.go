package enginetest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// failure formats an error: code, reason and causes.
func failure(err error) string {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return fmt.Sprintf("%T", err)
	}
	text := []string{fmt.Sprintf("%d %s", status.Status().Code, status.Status().Reason)}
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			text = append(text, fmt.Sprintf("%s %s", cause.Type, cause.Field))
		}
	}
	return strings.TrimSpace(strings.Join(slices.Compact(text), "; "))
}

// format formats an object without the values that a server generates, and keeps these.
func (s *session) format(obj *unstructured.Unstructured, managers bool) string {
	ref := object.RefOf(obj)
	if s.seen[ref] == nil {
		s.seen[ref] = &identities{}
	}
	seen := s.seen[ref]
	text := fmt.Sprintf("uid %s, version %s, generation %d\n",
		sight(&seen.uids, string(obj.GetUID())), sight(&seen.versions, obj.GetResourceVersion()),
		obj.GetGeneration())
	obj = obj.DeepCopy()
	fields := obj.GetManagedFields()
	for _, name := range []string{
		"uid", "resourceVersion", "creationTimestamp", "managedFields", "namespace", "name",
		"generation",
	} {
		unstructured.RemoveNestedField(obj.Object, "metadata", name)
	}
	if obj.GetDeletionTimestamp() != nil {
		obj.Object["metadata"].(map[string]any)["deletionTimestamp"] = "TIME"
	}
	owners := obj.GetOwnerReferences()
	for i := range owners {
		owners[i].UID = "UID"
	}
	if owners != nil {
		obj.SetOwnerReferences(owners)
	}
	if metadata, ok := obj.Object["metadata"].(map[string]any); ok && len(metadata) == 0 {
		delete(obj.Object, "metadata")
	}
	delete(obj.Object, "apiVersion")
	delete(obj.Object, "kind")
	data, err := yaml.Marshal(obj.Object)
	if err != nil {
		s.t.Fatal(err)
	}
	text += string(data)
	if managers {
		text += formatManagers(fields)
	}
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

// sight says whether a value is new, and keeps it.
func sight(values *[]string, value string) string {
	switch i := slices.Index(*values, value); {
	case value == "":
		return "none"
	case i < 0:
		*values = append(*values, value)
		return "new"
	case i == len(*values)-1:
		return "same"
	default:
		return "old"
	}
}

// ownerKey matches the UID of an owner in managed fields.
var ownerKey = regexp.MustCompile(`\\"[0-9a-f-]{36}\\"`)

// formatManagers formats managed fields: a line for each manager, with its fields as JSON.
func formatManagers(entries []metav1.ManagedFieldsEntry) string {
	var lines []string
	for _, e := range entries {
		fields, err := json.Marshal(e.FieldsV1)
		if err != nil {
			return err.Error() + "\n"
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Manager, e.Operation,
			e.Subresource))+": "+ownerKey.ReplaceAllString(string(fields), `\"UID\"`)+"\n")
	}
	slices.Sort(lines) // entries of one second have no order
	return strings.Join(lines, "")
}

// formatEvent formats an event: the name of an object, whether it exists, and its content.
func formatEvent(e cluster.ObjectEvent) string {
	switch {
	case e.Err != nil:
		return "error " + failure(e.Err) + "\n"
	case e.Listed:
		return "listed\n"
	case e.Object == nil:
		return e.Ref.Name + " does not exist\n"
	default:
		return fmt.Sprintf("%s %v %v\n", e.Ref.Name, e.Object.GetLabels(), e.Object.Object["data"])
	}
}
