package kpt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/packageflags"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// liveErrorText is the text that kpt live prints for an error.
type liveErrorText struct{ form, text string }

// The forms in which kpt live prints errors: as kubectl does, and as messages of several lines.
const (
	asKubectl = "error: %s\n"
	asMessage = "%s\n \n"
	asLine    = "%s \n"
)

// liveInitialized are the ends of the errors of kpt live init for a package that has an inventory,
// by the object that holds it.
var liveInitialized = map[string]string{
	"ResourceGroup": `Changing it after a package has been applied to the cluster can lead to ` +
		`undesired results. Use the --force flag to suppress this error.`,
	"Kptfile": `Please consider migrating to a standalone resourcegroup object using the ` +
		`'kpt live migrate' command.`,
}

// liveError returns an error that is printed as kpt live prints it.
func liveError(err error) error {
	if result := (*cli.ResultError)(nil); err == nil || errors.As(err, &result) ||
		errors.Is(err, context.Canceled) {
		return err
	}
	w := liveErrorOf(err)
	return &cli.TextError{Text: fmt.Sprintf(w.form, w.text), Err: err}
}

// liveMessage returns the text of kpt live for an error, without its prefix.
func liveMessage(err error) string { return strings.TrimSpace(liveErrorOf(err).text) }

// liveErrorOf returns the text of kpt live for an error, or the error's own.
func liveErrorOf(err error) *liveErrorText {
	own := &liveErrorText{form: asKubectl, text: err.Error()}
	if several := flatten(err); len(several) > 1 {
		return liveErrorOfAll(own, several)
	}
	wordPackageErrors(own, err)
	if mismatch := (*inventory.MismatchError)(nil); errors.As(err, &mismatch) {
		own.text = fmt.Sprintf(
			"inventory-id of inventory object in cluster doesn't match provided id %q",
			mismatch.Want,
		)
	}
	if home := (*inventory.NoNamespaceError)(nil); errors.As(err, &home) {
		own.text = fmt.Sprintf("inventory namespace %q does not exist", home.Namespace)
	}
	if none := (*packages.NoInventoryError)(nil); errors.As(err, &none) {
		own.text = "no ResourceGroup object was provided within the stream or package"
	}
	if directory := (*directoryError)(nil); errors.As(err, &directory) {
		own.form, own.text = asLine, "Error: "+directory.Error()
	}
	if unknown := (*packages.UnknownKindsError)(nil); errors.As(err, &unknown) {
		own.form, own.text = asMessage, liveUnknown(unknown)
	}
	if cycle := (*plan.CycleError)(nil); errors.As(err, &cycle) {
		own.text = liveCycle(cycle)
	}
	if of := (*plan.ObjectError)(nil); errors.As(err, &of) {
		own.text = fmt.Sprintf("invalid object: %q: %s", idOf(of.Ref), liveComplaint(of))
	}
	return own
}

// wordPackageErrors sets the text for an error of a package's files or of the ResourceGroup
// definition.
func wordPackageErrors(own *liveErrorText, err error) {
	incomplete, two := (*inventory.IncompleteError)(nil), (*packages.TwoFormatsError)(nil)
	folder, scoped := (*packages.NoFolderError)(nil), (*packages.ClusterScopedError)(nil)
	other, file := (*packages.OtherNamespaceError)(nil), (*packageflags.FileNameError)(nil)
	metadata := (*manifest.MetadataError)(nil)
	switch {
	case errors.As(err, &file):
		own.text = "rg-file must be a valid filename"
	case errors.As(err, &incomplete):
		own.text = "the provided ResourceGroup is not valid"
	case errors.As(err, &two):
		own.text = fmt.Sprintf("inventory was found in both %s and %s object", two.Older, two.Newer)
	case errors.As(err, &folder):
		own.text = fmt.Sprintf("lstat %s: no such file or directory", folder.Folder)
	case errors.As(err, &scoped):
		own.text = fmt.Sprintf(
			"resource is cluster-scoped but has a non-empty namespace %q", scoped.Namespace,
		)
	case errors.As(err, &other):
		own.text = fmt.Sprintf(
			"found namespace %q, but all resources must be in namespace %q", other.Namespace,
			other.Want,
		)
	case errors.As(err, &metadata):
		own.text = metadata.Problem
	default:
		wordInventoryErrors(own, err)
	}
}

// wordInventoryErrors sets the text for an error of a package's inventory or of the ResourceGroup
// definition.
func wordInventoryErrors(own *liveErrorText, err error) {
	several, initialized := (*packages.SeveralInventoriesError)(nil), (*packages.InitializedError)(nil)
	install := (*packages.InstallError)(nil)
	switch {
	case errors.As(err, &several) && several.Format == "Kptfile":
		own.text = "multiple Kptfile inventories found in package"
	case errors.As(err, &several):
		own.form, own.text = asMessage, fmt.Sprintf(
			"\nError: Multiple %[1]s objects found. Please make sure at most one %[1]s object exists "+
				"within the package.", several.Format,
		)
	case errors.As(err, &initialized):
		own.form, own.text = asMessage, fmt.Sprintf(
			"\nError: Inventory information has already been added to the package %s object. %s",
			initialized.Object, liveInitialized[initialized.Object],
		)
	case errors.As(err, &install):
		own.form, own.text = asLine, fmt.Sprintf(
			"Error: Unable to install the ResourceGroup CRD.\nDetails: %v", install.Err,
		)
	case errors.Is(err, packages.ErrNoDefinition):
		own.form, own.text = asMessage, "\nError: The ResourceGroup CRD was not found in the cluster. "+
			"Please install it either by using the '--install-resource-group' flag or the "+
			"'kpt live install-resource-group' command."
	}
}

// listError is the error of kpt live apply for a kind that may not be listed.
type listError struct{ denied *cluster.DeniedError }

func (e *listError) Error() string {
	kind := e.denied.Ref.GroupKind().WithVersion(e.denied.Resource.Version)
	// a list of one object is refused with its name, which lists of kpt do not have
	const refused = " is forbidden: "
	refusal := strings.Replace(e.denied.ListCause.Error(),
		fmt.Sprintf(" %q", e.denied.Ref.Name)+refused, refused, 1)
	return fmt.Sprintf("polling for status failed: failed to list %s: %s", kind, refusal)
}

// Unwrap returns the error for an object.
func (e *listError) Unwrap() error { return e.denied }

// listErrors returns the errors for kinds that may not be listed, if err has no other cause;
// otherwise err.
func listErrors(err error) error {
	causes := err
	if inner := errors.Unwrap(err); inner != nil { // what is read
		causes = inner
	}
	var all []error
	for _, cause := range flatten(causes) {
		denied := (*cluster.DeniedError)(nil)
		if !errors.As(cause, &denied) || denied.ListCause == nil {
			return err
		}
		all = append(all, &listError{denied})
	}
	return errors.Join(all...)
}

// flatten returns all errors that are joined in err, recursively.
func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, err := range joined.Unwrap() {
		all = append(all, flatten(err)...)
	}
	return all
}

// liveErrorOfAll lists several errors without the prefixes that each has alone.
func liveErrorOfAll(own *liveErrorText, several []error) *liveErrorText {
	var text strings.Builder
	fmt.Fprintf(&text, "%d errors:", len(several))
	for _, err := range several {
		words := strings.TrimPrefix(strings.TrimSpace(liveErrorOf(err).text), "Error: ")
		text.WriteString(
			"\n- " + strings.ReplaceAll(strings.ReplaceAll(words, "\n\n", "\n"), "\n", "\n  "),
		)
	}
	own.text = text.String()
	return own
}

// liveUnknown formats a list of unknown kinds.
func liveUnknown(e *packages.UnknownKindsError) string {
	var kinds strings.Builder
	for _, kind := range e.Kinds {
		fmt.Fprintf(&kinds, "\n%s, Kind=%s", kind.GVK.GroupVersion(), kind.GVK.Kind)
	}
	return fmt.Sprintf(
		"Error: %d resource types not found in the cluster or as CRDs among the applied "+
			"resources.\n\nResource types:%s", len(e.Kinds), kinds.String(),
	)
}

// liveCycle formats cycles of dependencies, with all objects that depend on them.
func liveCycle(cycle *plan.CycleError) string {
	ids := object.NewSet()
	var edges strings.Builder
	for _, edge := range cycle.Blocked {
		ids.Insert(edge.From)
		fmt.Fprintf(&edges, "\n- %s -> %s", pathOf(edge.From), pathOf(edge.To))
	}
	var quoted []string
	for _, ref := range slices.SortedFunc(slices.Values(ids.Refs()), object.Compare) {
		quoted = append(quoted, fmt.Sprintf("%q", idOf(ref)))
	}
	return fmt.Sprintf(
		"invalid objects: [%s] cyclic dependency:%s", strings.Join(quoted, ", "), edges.String(),
	)
}

// liveComplaint formats the problem with one object.
func liveComplaint(of *plan.ObjectError) string {
	if external := (*plan.ExternalError)(nil); errors.As(of, &external) {
		key := policy.DependsOnKey
		if external.TakesValue {
			key = policy.MutationKey
		}
		return fmt.Sprintf(
			"invalid %q annotation: external dependency: %s -> %s", key, pathOf(external.From),
			pathOf(external.To),
		)
	}
	if annotation := (*policy.AnnotationError)(nil); errors.As(of, &annotation) {
		return fmt.Sprintf(
			"invalid %q annotation: %s", annotation.Key, liveAnnotation(of.Ref, annotation.Err),
		)
	}
	return of.Err.Error()
}

func liveAnnotation(ref object.Ref, err error) string {
	reference, repeated := (*policy.ReferenceError)(nil), (*policy.RepeatedError)(nil)
	switch {
	case errors.As(err, &repeated):
		return fmt.Sprintf("duplicate dependency: %s -> %s", pathOf(ref), pathOf(repeated.Ref))
	case !errors.As(err, &reference):
		return err.Error()
	}
	problem := reference.Problem
	if fields := strings.Split(reference.Text, "/"); len(fields) != 3 && len(fields) != 5 {
		problem = fmt.Sprintf("expected 3 or 5 fields, found %d", len(fields))
	} else if len(fields) == 5 && fields[1] != "namespaces" {
		problem = `missing "namespaces" field`
	}
	return fmt.Sprintf(
		"failed to parse object reference (index: %d): %s: %q", reference.Index, problem,
		reference.Text,
	)
}
