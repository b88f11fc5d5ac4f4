package artifacts

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/artifactflags"
	"github.com/muster-deploy/muster/internal/feature/artifact"
)

// outputTable is the output format of artifacts for people.
const outputTable = "table"

// artifactsFlags are the flags of artifacts.
type artifactsFlags struct {
	artifactflags.AccessFlags
	semver string
	output cli.Choice
}

func newArtifacts(env *cli.Env) *cobra.Command {
	f := artifactsFlags{output: cli.Choice{Value: outputTable, Meaning: "output",
		Allowed: []string{outputTable, cli.OutputJSON, cli.OutputYAML}}}
	cmd := &cobra.Command{
		Use:   "artifacts oci://REGISTRY/REPOSITORY",
		Short: "List the OCI artifacts in a repository of a registry",
		Long: `List the tags of a repository in a registry, with the digest, the age and the revision of each
artifact: versions first, the newest on top, then other tags by name. Tags that only sign an
artifact are not listed.

--semver selects versions by a range such as '>=1.3 <2', '1.4' (all of 1.4) or '>=1.3 || 0.9.1'.
Pre-releases count only if the range names one.

Exit codes:
  0    the tags were listed
  1    they could not be listed: the error says why
  130  interrupted`,
		Example: "  " + env.Name() + " artifacts oci://registry.example.com/team/shop\n" +
			"  " + env.Name() + " artifacts oci://registry.example.com/team/shop --semver '>=1.3'",
		Args: cli.Arguments(1, 1),
		ValidArgsFunction: func(
			*cobra.Command, []string, string,
		) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), env, args[0])
		},
	}
	f.AddAccess(cmd)
	cmd.Flags().StringVar(&f.semver, "semver", "", "Only versions in this range (example: '>=1.3 <2')")
	f.output.AddShortTo(cmd, "output", "o", "Output format")
	return cmd
}

func (f *artifactsFlags) run(ctx context.Context, env *cli.Env, text string) error {
	if err := f.output.Check(); err != nil {
		return err
	}
	r, err := artifact.Parse(text)
	if err != nil {
		return err
	}
	if r.Tag != "" || r.Digest != "" || r.Folder != "" {
		return fmt.Errorf("%s: artifacts lists all versions: name the repository alone, %s", r, r.Base())
	}
	versions, err := artifact.ParseVersions(f.semver)
	if err != nil {
		return fmt.Errorf("--semver: %w", err)
	}
	repo, err := f.Access(env).Open(ctx, r)
	if err != nil {
		return err
	}
	tagged, err := repo.List(ctx, versions)
	if err != nil {
		return err
	}
	if f.output.Value != outputTable {
		document := map[string]any{"repository": r.Base(), "items": tagged}
		return cli.Encode(env.Out, f.output.Value, document)
	}
	if len(tagged) == 0 {
		env.Notice(fmt.Sprintf("there are no such tags in %s", r.Base()))
		return nil
	}
	return printTagged(env, tagged)
}

// shortRevision is the length of commits in the table.
const shortRevision = 12

// printTagged prints a row for each tag.
func printTagged(env *cli.Env, tagged []artifact.Tagged) error {
	table := tabwriter.NewWriter(env.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "TAG\tAGE\tREVISION\tDIGEST")
	for _, t := range tagged {
		age, revision := "-", "-"
		if created, err := time.Parse(time.RFC3339, t.Created); err == nil {
			age = duration.HumanDuration(env.Now().Sub(created))
		}
		if commit, dirty, _ := strings.Cut(t.Revision, "-"); commit != "" {
			revision = commit[:min(shortRevision, len(commit))]
			if dirty != "" {
				revision += "-" + dirty
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", plaintext.Line(t.Tag), age,
			plaintext.Line(revision), plaintext.Line(t.Digest))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}
