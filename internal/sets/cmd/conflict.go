package cmd

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/view"
)

// failureText returns why a step failed, and the place that describes its object. For a conflict of
// field managers it lists each field, its owners, and the times of their writes.
func failureText(step *plan.Step, err error) string {
	if changed := (*plan.ConflictError)(nil); errors.As(err, &changed) {
		return "others have changed fields that the manifest sets" + sourceSuffix(step.Source) + "\n" +
			changedLines(changed.Fields)
	}
	if blocked := (*plan.ObstacleError)(nil); errors.As(err, &blocked) {
		return "others have set fields that cannot be beside those of the manifest" +
			sourceSuffix(step.Source) + "\n" + obstacleLines(blocked.Fields)
	}
	if deleted := (*engine.NotRecreatedError)(nil); errors.As(err, &deleted) {
		return indented(err) + sourceSuffix(step.Source) + sizeHint(step, err)
	}
	conflicts := diff.Conflicts(err)
	if len(conflicts) == 0 || step.Have == nil {
		return indented(err) + sourceSuffix(step.Source) + sizeHint(step, err)
	}
	return "other managers own fields that the manifest sets" + sourceSuffix(step.Source) + "\n" +
		conflictLines(step, conflicts)
}

// changedLines returns a line for each field that others have changed, and the way to overwrite
// them.
func changedLines(fields []plan.Contest) string {
	var lines []string
	for _, c := range fields {
		lines = append(lines, "    "+c.Field+" changed by "+view.Owners(c.Owners))
	}
	return strings.Join(append(lines, "    --conflicts=take-all overwrites them"), "\n")
}

// obstacleLines returns a line for each field that is in the way, and the way to remove them.
func obstacleLines(fields []diff.ContestedField) string {
	var lines []string
	for _, field := range fields {
		lines = append(lines, "    "+field.Field+" is in the way, set by "+view.Owners(field.Owners))
	}
	return strings.Join(append(lines, "    "+takeOverHint), "\n")
}

// takeOverHint is the way to get fields of others in a server-side apply.
const takeOverHint = "--force-conflicts takes them over"

// sizeHint returns the way out for an object that is too large for the annotation in which a
// client-side apply stores the manifest, or an empty text. An object whose own annotations are too
// large has none.
func sizeHint(step *plan.Step, err error) string {
	if step.Want == nil || !hasCause(err, metav1.CauseTypeTooLong, "metadata.annotations") {
		return ""
	}
	size := 0
	for key, value := range step.Want.GetAnnotations() {
		size += len(key) + len(value)
	}
	if size > validation.TotalAnnotationSizeLimitB {
		return ""
	}
	return "\n    the manifest is too large to be stored in an annotation; --server-side stores none"
}

// hasCause reports whether the server refused a field for a reason.
func hasCause(err error, reason metav1.CauseType, field string) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return c.Type == reason && c.Field == field
	})
}

// conflictLines returns a line for each field with its owners, and the way to take them over.
func conflictLines(step *plan.Step, conflicts []metav1.StatusCause) string {
	var lines []string
	for _, c := range conflicts {
		line := "    " + c.Field + " " + ownersOf(step, c)
		if !slices.Contains(lines, line) { // a field has a conflict with each of its owners
			lines = append(lines, line)
		}
	}
	return strings.Join(append(lines, "    "+takeOverHint), "\n")
}

// ownersOf formats the owners of a field from the object's managed fields, or else the server's
// message.
func ownersOf(step *plan.Step, conflict metav1.StatusCause) string {
	owners, err := diff.Owners(step.Have, conflict.Field)
	if err != nil || len(owners) == 0 {
		return "(" + conflict.Message + ")"
	}
	texts := make([]string, len(owners))
	for i, owner := range owners {
		texts[i] = "belongs to " + view.Owner(owner)
	}
	return strings.Join(texts, ", ")
}
