package run

import (
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/show/view"
)

// failureText returns why a step failed, and the place that describes its object. For a conflict of
// field managers it lists each field, its owners, and the times of their writes. ServerSide means
// that the run applies all objects server-side.
func failureText(step *plan.Step, err error, serverSide bool) string {
	if changed := (*plan.ConflictError)(nil); errors.As(err, &changed) {
		return "others have changed fields that the manifest sets" + sourceSuffix(step.Source) + "\n" +
			changedLines(changed.Fields)
	}
	if blocked := (*plan.ObstacleError)(nil); errors.As(err, &blocked) {
		return "others have set fields that cannot be beside those of the manifest" +
			sourceSuffix(step.Source) + "\n" + obstacleLines(blocked.Fields, serverSide)
	}
	conflicts, deleted := diff.Conflicts(err), (*engine.NotRecreatedError)(nil)
	if len(conflicts) == 0 || step.Have == nil || errors.As(err, &deleted) {
		return indented(err) + sourceSuffix(step.Source)
	}
	return "other managers own fields that the manifest sets" + sourceSuffix(step.Source) + "\n" +
		conflictLines(step, conflicts, serverSide)
}

// changedLines returns a line for each field that others have changed, and the way to overwrite
// them.
func changedLines(fields []plan.Contest) string {
	var lines []string
	for _, c := range fields {
		lines = append(lines, "    "+c.Field+" changed by "+view.Owners(c.Owners))
	}
	return strings.Join(append(lines, "    "+overwriteHint), "\n")
}

// overwriteHint is the way to overwrite fields of others.
const overwriteHint = "--conflicts=take-all overwrites them"

// obstacleLines returns a line for each field that is in the way, and the way to remove them.
func obstacleLines(fields []diff.ContestedField, serverSide bool) string {
	var lines []string
	for _, field := range fields {
		lines = append(lines, "    "+field.Field+" is in the way, set by "+view.Owners(field.Owners))
	}
	return strings.Join(append(lines, "    "+takeOverHint(serverSide)), "\n")
}

// takeOverHint returns the way to get fields of others in a server-side apply. A run that applies
// the other objects client-side has another flag for that.
func takeOverHint(serverSide bool) string {
	if serverSide {
		return "--force-conflicts takes them over"
	}
	return overwriteHint
}

// conflictLines returns a line for each field with its owners, and the way to take them over.
func conflictLines(
	step *plan.Step, conflicts []metav1.StatusCause, serverSide bool,
) string {
	var lines []string
	for _, c := range conflicts {
		line := "    " + c.Field + " " + ownersOf(step, c)
		if !slices.Contains(lines, line) { // a field has a conflict with each of its owners
			lines = append(lines, line)
		}
	}
	return strings.Join(append(lines, "    "+takeOverHint(serverSide)), "\n")
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
