package run

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/output"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/show/report"
)

func newReport(env *cli.Env) *cobra.Command {
	flag := output.NewFlag(output.ReportKinds)
	cmd := &cobra.Command{
		Use:   "report FILE | -",
		Short: "Report on a recorded run or plan, without a cluster",
		Long: `Report on a run that apply, destroy or restore has recorded with -o json, or on the JSON of a plan,
read from a file or from the standard input (-). No cluster is needed.

Exit codes:
  0    the report was written
  1    it could not be read or written: the error says why`,
		Example: "  " + env.Name() + " apply wordpress -o json=run.jsonl\n" +
			"  " + env.Name() + " report run.jsonl -o html=report.html -o junit=report.xml\n" +
			"  " + env.Name() + " plan wordpress -o json | " + env.Name() + " report - -o markdown",
		Args: cli.Arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			readers, err := flag.Readers(env, false)
			if err != nil {
				return err
			}
			runs, err := readRuns(env, args[0])
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			outputs, err := output.Open(env, readers)
			if err != nil {
				return err
			}
			return outputs.Print(func(r output.Reader, out io.Writer) error {
				if r.Kind == output.Quiet {
					return nil
				}
				if r.Path == "" {
					return report.Render(out, report.Format(r.Kind), runs, env.Getenv("GITHUB_WORKSPACE"))
				}
				return output.Render(env, r, out, runs)
			})
		},
	}
	flag.Add(cmd)
	return cmd
}

// readRuns returns the recorded runs in a file or on the standard input.
func readRuns(env *cli.Env, path string) ([]*report.Run, error) {
	if path == packages.Stdin {
		return report.Read(env.In)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return report.Read(f)
}
