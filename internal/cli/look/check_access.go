package look

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/feature/access"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/show/view"
)

// checkAccessFlags are the flags of check-access.
type checkAccessFlags struct {
	setflags.Flags
	output cli.Choice
}

// NewCheckAccess returns the command that finds out which permissions a set needs.
func NewCheckAccess(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := checkAccessFlags{output: cli.Choice{
		Value: view.OutputText, Meaning: "output",
		Allowed: []string{view.OutputText, cli.OutputJSON, cli.OutputYAML},
	}}
	cmd := &cobra.Command{
		Use:   "check-access [FOLDER | -] | -a NAME -f FILE",
		Short: "Show which permissions apply, status and destroy need and the user does not have",
		Long: `Ask the API server which of the permissions the user has that apply, status and destroy of a set
need: on the objects that it describes and has deployed, on its record, and on the Leases that lock
it. Print those that are missing and roles that grant them; with -o yaml only the roles. Bind them
with kubectl create rolebinding, or clusterrolebinding. Nothing is changed.

Some permissions are optional: without them runs are not locked, or do not say why an object is not
ready. Whether the user may grant what roles of the set grant is not checked.

Exit codes:
  0  all permissions are there that are not optional
  1  they could not be checked: the error says why
  3  some are missing`,
		Example: "  " + env.Name() + " check-access wordpress --as ann\n" +
			"  " + env.Name() + " check-access -a web -f web.yaml -o yaml | kubectl apply -f -",
		ValidArgsFunction: cli.CompleteFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), env, kube, args)
		},
	}
	f.AddFiles(cmd)
	f.output.AddShortTo(cmd, "output", "o", "Output format")
	return cmd
}

func (f *checkAccessFlags) run(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) error {
	if err := f.output.Check(); err != nil {
		return err
	}
	set, client, err := f.Open(ctx, env, kube, args, nil)
	if err != nil {
		return err
	}
	needs, unknown, err := sets.Needs(ctx, client, set, env.Notice)
	if err != nil {
		return err
	}
	permissions := make([]access.Permission, len(needs))
	for i, need := range needs {
		permissions[i] = need.Permission
	}
	missing, err := access.Missing(ctx, client, permissions)
	if err != nil {
		return err
	}
	_, name := set.Name()
	report := accessReport{Set: set.Title(), Permissions: make([]checkedNeed, len(needs))}
	refused := false
	var lacking []access.Permission
	for i, need := range needs {
		report.Permissions[i] = checkedNeed{need, !missing[need.Permission]}
		if missing[need.Permission] {
			lacking = append(lacking, need.Permission)
			refused = refused || !need.Optional
		}
	}
	for _, kind := range unknown {
		report.UnknownKinds = append(report.UnknownKinds, kind.String())
	}
	for _, role := range access.Roles("muster-"+name, lacking) {
		report.Roles = append(report.Roles, role.Object)
	}
	if err := f.print(env, &report, unknown); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	if refused {
		return &cli.ResultError{}
	}
	return nil
}

// accessReport is the JSON of check-access.
type accessReport struct {
	Set          string           `json:"set"`
	Permissions  []checkedNeed    `json:"permissions"`
	UnknownKinds []string         `json:"unknownKinds,omitempty"` // KIND.GROUP
	Roles        []map[string]any `json:"roles,omitempty"`
}

// checkedNeed is a permission and whether the user has it.
type checkedNeed struct {
	sets.Need
	Allowed bool `json:"allowed"`
}

func (f *checkAccessFlags) print(
	env *cli.Env, report *accessReport, unknown []schema.GroupKind,
) error {
	if f.output.Value == cli.OutputJSON {
		return cli.Encode(env.Out, cli.OutputJSON, report)
	}
	for _, kind := range unknown {
		env.Notice(fmt.Sprintf("Warning: the cluster does not know the kind %s: permissions on it are "+
			"not checked", kind))
	}
	if f.output.Value == view.OutputText {
		lines := report.lines()
		if len(lines) == 0 {
			lines = []string{report.Set + ": no permission is missing"}
		}
		for _, line := range lines {
			if err := env.Print(line); err != nil {
				return err
			}
		}
	}
	for _, role := range report.Roles {
		if _, err := fmt.Fprintln(env.Out, "---"); err != nil {
			return err
		}
		if err := cli.Encode(env.Out, cli.OutputYAML, role); err != nil {
			return err
		}
	}
	return nil
}

// lines returns a line for each resource on which permissions are missing: those that are needed
// first.
func (r *accessReport) lines() []string {
	var order []sets.Need // without verbs
	verbs := map[sets.Need][]string{}
	for _, p := range r.Permissions {
		line := p.Need
		if line.Verb = ""; p.Allowed {
			continue
		}
		if verbs[line] == nil {
			order = append(order, line)
		}
		verbs[line] = append(verbs[line], p.Verb)
	}
	var needed, optional []string
	for _, need := range order {
		need.Verb = strings.Join(verbs[need], ", ")
		if need.Optional {
			optional = append(optional, "optional: "+need.String())
		} else {
			needed = append(needed, "missing: "+need.String())
		}
	}
	return slices.Concat(needed, optional)
}
