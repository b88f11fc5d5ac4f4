package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/plan"
)

// failureText returns why a step failed, and the place that describes its object. For a conflict of
// field managers it lists each field, its owners, and the times of their writes.
func failureText(step *plan.Step, err error) string {
	conflicts := diff.Conflicts(err)
	if len(conflicts) == 0 || step.Have == nil {
		return indented(err) + sourceSuffix(step.Source) + sizeHint(step, err)
	}
	return "other managers own fields that the package sets" + sourceSuffix(
		step.Source,
	) + "\n" + conflictLines(step, conflicts)
}

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
	return strings.Join(append(lines, "    --force-conflicts takes them over"), "\n")
}

// ownersOf formats the owners of a field from the object's managed fields, or else the server's
// message.
func ownersOf(step *plan.Step, conflict metav1.StatusCause) string {
	owners, err := diff.Owners(step.Have, conflict.Field)
	var texts []string
	for _, o := range owners {
		text := fmt.Sprintf("belongs to %q", o.Manager)
		if !o.Since.IsZero() {
			text += " since " + o.Since.UTC().Format(time.RFC3339)
		}
		texts = append(texts, text)
	}
	if err != nil || len(texts) == 0 {
		return "(" + conflict.Message + ")"
	}
	return strings.Join(texts, ", ")
}
