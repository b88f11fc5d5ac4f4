package app

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
)

// UnlistableError refuses a deletion: not all objects of the app can be listed, and nothing would
// find those again.
type UnlistableError struct {
	Permissions []string // that the user lacks, in words
	Failures    []string // kinds that nobody can list now, with the cause
	app         *App
}

// Error returns the text under kapp's grammar.
func (e *UnlistableError) Error() string {
	text := fmt.Sprintf("Refusing to delete app '%s' (namespace: %s): Resources of it may be left "+
		"that nothing would find any more. ", e.app.Name, e.app.Namespace)
	var hints []string
	if len(e.Permissions) > 0 {
		text += "Missing permissions:\n- " + strings.Join(e.Permissions, "\n- ") + "\n"
		hints = append(hints, "have somebody with these permissions delete it")
	}
	if len(e.Failures) > 0 {
		text += "Kinds that cannot be listed:\n- " + strings.Join(e.Failures, "\n- ") + "\n"
		hints = append(hints, "repair what serves these kinds")
	}
	return text + fmt.Sprintf("(hint: %s; a filter, as --filter-kind, deletes some resources and "+
		"keeps the app; delete --%s deletes what can be seen and the app)", strings.Join(hints, "; "),
		ForgetFlag)
}

// RecordNameError refuses an object that has the name of the app's record.
type RecordNameError struct {
	Ref    object.Ref
	Origin string // file and document of the object
	Err    error  // under kapp's grammar
}

func (e *RecordNameError) Error() string { return e.Err.Error() }

// Unwrap returns the error under kapp's grammar.
func (e *RecordNameError) Unwrap() error { return e.Err }

// LeftError reports objects of an app that exist after its deletion, which keeps its record.
type LeftError struct{ Objects []*unstructured.Unstructured }

// Error returns the text under kapp's grammar.
func (e *LeftError) Error() string {
	names := strings.Join(describeAll(e.Objects), ", ")
	return "Expected all resources to be gone, but found: " + names
}

// LostRecordError reports that another run deleted the record of an app during its deployment.
type LostRecordError struct {
	Left     []string // what exists of the app, or cannot be looked for
	Restored bool     // the record was created again
	Selector string   // of the objects
	app      *App
	cause    error // why the record could not be created again
}

// Error returns the text under kapp's grammar.
func (e *LostRecordError) Error() string {
	list := ":\n- " + strings.Join(e.Left, "\n- ")
	title := fmt.Sprintf("App '%s' (namespace: %s) was deleted by another run meanwhile: ", e.app.Name,
		e.app.Namespace)
	switch {
	case len(e.Left) == 0:
		return title + "Nothing is left of it (hint: run the command again to deploy it)"
	case e.Restored:
		return title + "It is recorded again, with what is left of it (hint: run the command again to " +
			"deploy all of it, or delete it)" + list
	default:
		return fmt.Sprintf("%v: Nothing records what this run has left (hint: delete -a 'label:%s' "+
			"deletes it; deploy --dangerous-override-ownership-of-existing-resources takes it over)%s",
			e.cause, e.Selector, list)
	}
}

// Unwrap returns the cause, which may be an answer of the server.
func (e *LostRecordError) Unwrap() error { return e.cause }
