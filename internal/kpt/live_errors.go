package kpt

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/plan"
)

// wordedError is an error for which kpt live has words of its own.
type wordedError struct {
	error
	form, text string
}

// The forms in which kpt live prints its errors: as kubectl does, as its package tools do, and as messages of many lines.
const (
	asKubectl = "error: %s\n"
	asPackage = "Error: %s \n"
	asMessage = "%s\n \n"
)

// liveInitialized is what init says of a package that has an inventory.
const liveInitialized = `
Error: Inventory information has already been added to the package ResourceGroup object. ` +
	`Changing it after a package has been applied to the cluster can lead to undesired results. ` +
	`Use the --force flag to suppress this error.`

// errNoDefinition says that the cluster cannot keep a record.
var errNoDefinition = worded(
	errors.New("the cluster has no ResourceGroup definition; run install-resource-group, or apply with --install-resource-group"),
	asMessage, "Error: The ResourceGroup CRD was not found in the cluster. "+
		"Use the --install-resource-group flag of apply, or the command install-resource-group.")

// worded gives an error the words that kpt live has for it.
func worded(err error, form, format string, args ...any) error {
	return &wordedError{error: err, form: form, text: fmt.Sprintf(format, args...)}
}

// Unwrap gives the error in our own words.
func (e *wordedError) Unwrap() error { return e.error }

// liveError gives an error the text that kpt live prints for it.
func liveError(err error) error {
	if result := (*cli.ResultError)(nil); err == nil || errors.As(err, &result) || errors.Is(err, context.Canceled) {
		return err
	}
	w := wordsOf(err)
	return &cli.ToldError{Text: fmt.Sprintf(w.form, w.text), Err: err}
}

// liveMessage is the text without what the screen has around it.
func liveMessage(err error) string { return wordsOf(err).text }

// wordsOf finds the words for an error, else takes its own.
func wordsOf(err error) *wordedError {
	own := &wordedError{error: err, form: asKubectl, text: err.Error()}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return wordsOfAll(own, several.Unwrap())
	}
	if w := (*wordedError)(nil); errors.As(err, &w) {
		return w
	}
	if cycle := (*plan.CycleError)(nil); errors.As(err, &cycle) {
		own.text = liveCycle(cycle)
	}
	if external := (*plan.ExternalError)(nil); errors.As(err, &external) {
		own.text = fmt.Sprintf("invalid object: %q: invalid %q annotation: external dependency: %s -> %s",
			idOf(external.From), dependsOnKey, pathOf(external.From), pathOf(external.To))
	}
	return own
}

// wordsOfAll lists several errors, each in its words.
func wordsOfAll(own *wordedError, several []error) *wordedError {
	if len(several) == 1 {
		return wordsOf(several[0])
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d errors:", len(several))
	for _, err := range several {
		text.WriteString("\n- " + strings.ReplaceAll(strings.TrimSpace(wordsOf(err).text), "\n", "\n  "))
	}
	own.text = text.String()
	return own
}

// liveCycle words a circle of dependencies.
func liveCycle(cycle *plan.CycleError) string {
	ids := make([]string, len(cycle.Refs))
	var edges strings.Builder
	for i, ref := range cycle.Refs {
		ids[i] = fmt.Sprintf("%q", idOf(ref))
		fmt.Fprintf(&edges, "\n- %s -> %s", pathOf(ref), pathOf(cycle.Refs[(i+1)%len(cycle.Refs)]))
	}
	return fmt.Sprintf("invalid objects: [%s] cyclic dependency:%s", strings.Join(ids, ", "), edges.String())
}
