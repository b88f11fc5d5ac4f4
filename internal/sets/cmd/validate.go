package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/plaintext"
	"github.com/muster-deploy/muster/internal/sets"
)

// validateFlag is what is done about what is probably wrong with the described objects: the value
// of kubectl's flag --validate. The default is to warn, as sets that were deployed before the flag
// existed may have unknown fields; kubectl's is strict.
type validateFlag struct{ mode cli.Choice }

const (
	validateStrict = "strict"
	validateWarn   = "warn"
	validateIgnore = "ignore"
)

// add adds the flag.
func (v *validateFlag) add(cmd *cobra.Command) {
	v.mode = cli.Choice{
		Value: validateWarn, Meaning: "validate",
		Allowed: []string{validateStrict, validateWarn, validateIgnore},
		Aliases: map[string]string{"true": validateStrict, "false": validateIgnore},
	}
	v.mode.AddTo(cmd, "validate", "What to do about unknown and duplicate fields, replicas beside an "+
		"autoscaler, namespaces that do not exist and change rules for unknown groups: strict fails "+
		"before anything is written, and asks the server about each object that would be")
	cmd.Flags().Lookup("validate").NoOptDefVal = validateStrict
}

// apply sets what the server does, before the clients of the command are made.
func (v *validateFlag) apply(kube *cli.Kube) {
	switch v.mode.Value {
	case validateStrict:
		kube.SetFieldValidation("Strict")
	case validateIgnore:
		kube.SetFieldValidation("Ignore")
	}
}

// check looks at the plan of an operation: it prints warnings, or returns all of them as an error.
func (v *validateFlag) check(
	ctx context.Context, env *cli.Env, c sets.Cluster, op sets.Operation,
) error {
	if v.mode.Value == validateIgnore {
		return nil
	}
	found, err := sets.Lint(ctx, c, op)
	if err != nil {
		return err
	}
	if v.mode.Value != validateStrict {
		for _, finding := range found {
			fmt.Fprintln(env.Err, plaintext.Printable("Warning: "+finding.String()))
		}
		return nil
	}
	unknown, err := sets.UnknownFields(ctx, c, op)
	if err != nil {
		return err
	}
	var lines []string
	for _, finding := range append(found, unknown...) {
		lines = append(lines, "\n- "+plaintext.Printable(finding.String()))
	}
	if len(lines) == 0 {
		return nil
	}
	return errors.New("nothing was changed, because the validation failed (--validate=warn only " +
		"warns):" + strings.Join(lines, ""))
}
