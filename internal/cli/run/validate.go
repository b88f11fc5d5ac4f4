package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/show/view"
)

// validateFlag is what is done about unknown fields, wrong types and namespaces that do not exist:
// the value of kubectl's flag --validate.
type validateFlag struct {
	mode cli.Choice
	// typed reports whether the user has given the flag. Without it, fields that the server does not
	// know are no reason to refuse a revision: the server has accepted it before.
	typed   bool
	command string // that of the run
	kube    *cli.Kube
	// incomplete reports whether some fields could not be validated.
	incomplete bool
}

// add adds the flag.
func (v *validateFlag) add(cmd *cobra.Command) {
	v.mode = cli.Choice{
		Value: sets.ValidateStrict, Meaning: "validate",
		Allowed: []string{sets.ValidateStrict, sets.ValidateWarn, sets.ValidateIgnore},
		Aliases: map[string]string{"true": sets.ValidateStrict, "false": sets.ValidateIgnore},
	}
	v.mode.AddTo(cmd, "validate", "What to do about fields that the server does not know, values of "+
		"wrong types, and namespaces that neither exist nor are in the set: strict fails before "+
		"anything is written, warn prints them")
	cmd.Flags().Lookup("validate").NoOptDefVal = sets.ValidateStrict
}

// value returns the mode for the command. Those that only mark objects refuse none.
func (v *validateFlag) value() string {
	if v.command == "adopt" || v.command == "convert" {
		return sets.ValidateWarn
	}
	return v.mode.Value
}

// restores reports whether the run restores a revision that may have unknown fields.
func (v *validateFlag) restores() bool { return v.command == "rollback" && !v.typed }

// ofWrites returns what the server does about unknown fields of objects that are written.
func (v *validateFlag) ofWrites() string {
	switch {
	case v.value() == sets.ValidateIgnore:
		return cluster.FieldsIgnore
	case v.value() == sets.ValidateStrict && v.command != "fix" && !v.restores():
		return cluster.FieldsStrict
	}
	return ""
}

// ofDryRuns returns what the server does about unknown fields in dry runs after the validation. It
// does not know definitions of the set yet.
func (v *validateFlag) ofDryRuns() string {
	if v.incomplete {
		return ""
	}
	return cluster.FieldsIgnore
}

// check validates the objects of an operation, and prints warnings. The error that it returns first
// is about the set, nil if it may be written. Locked is that of sets.Validate.
func (v *validateFlag) check(
	ctx context.Context, env *cli.Env, c cluster.Writer, op *sets.Operation, locked bool,
) (*sets.ValidationError, error) {
	if v.value() == sets.ValidateIgnore {
		return nil, nil
	}
	found, err := sets.Validate(ctx, c, op, locked, env.Kubectl)
	if err != nil {
		return nil, err
	}
	if v.incomplete = found.Incomplete != nil; v.incomplete {
		v.warn(env, "fields were not validated before the run: "+found.Incomplete.Error())
	}
	refused, warnings := found.Err(v.restores())
	if v.value() != sets.ValidateStrict {
		refused, warnings = nil, found.Problems
	}
	for _, finding := range append(found.Advice, warnings...) {
		v.warn(env, finding.String())
		if finding.Field != "" && v.kube != nil {
			v.kube.OmitWarning(finding.Ref, fmt.Sprintf("unknown field %q", finding.Field))
		}
	}
	return refused, nil
}

// checkRun returns an error if nothing must be written. It prints warnings.
func (v *validateFlag) checkRun(
	ctx context.Context, env *cli.Env, c cluster.Writer, op *sets.Operation, locked bool,
) error {
	refused, err := v.check(ctx, env, c, op, locked)
	if err != nil || refused == nil {
		return err
	}
	return errors.New("nothing was changed, because the validation failed (--validate=warn only " +
		"warns):" + plaintext.Printable(refused.List()))
}

// refuse marks the outlooks of objects with a problem as failing, and returns the error of the
// plan; nil if there is no problem.
func refuse(outlooks []view.Outlook, command string, refused *sets.ValidationError) error {
	if refused == nil {
		return nil
	}
	texts := refused.Refused()
	for i := range outlooks {
		if text := texts[outlooks[i].Step.Ref]; text != "" {
			outlooks[i].Refuse(text)
		}
	}
	return &cli.LateError{Err: errors.New(command + " would change nothing, because the validation " +
		"fails (--validate=warn only warns):" + plaintext.Printable(refused.List()))}
}

func (v *validateFlag) warn(env *cli.Env, text string) {
	env.Notice("Warning: " + text)
}
