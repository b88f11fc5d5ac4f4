package artifacts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/artifactflags"
	"github.com/muster-deploy/muster/internal/feature/artifact"
)

// pullFlags are the flags of pull.
type pullFlags struct {
	artifactflags.Flags
	output cli.Choice
}

func newPull(env *cli.Env) *cobra.Command {
	f := pullFlags{output: newOutput()}
	cmd := &cobra.Command{
		Use:   "pull oci://REGISTRY/REPOSITORY(:TAG|@DIGEST)[//FOLDER] [DIR]",
		Short: "Pull an OCI artifact into a folder",
		Long: `Pull an OCI artifact with manifests into a folder (default: the last part of its name), and print
its digest: artifacts that were pushed by this program, by Flux or by imgpkg, and images of which
the layers are manifests. The folder must not exist, or be empty, or have the same files.

Only files and folders are unpacked, below the folder, and at most 100 MiB; all is checked before a
file is written. With --verify cosign the signature is verified before that.

Exit codes:
  0    the folder has the files of the artifact
  1    it does not: the error says why, and nothing was changed
  130  interrupted`,
		Example: "  " + env.Name() + " pull oci://registry.example.com/team/shop:1.4.0\n" +
			"  " + env.Name() + " pull oci://registry.example.com/team/shop:1.4.0//prod shop-prod " +
			"--verify cosign --key cosign.pub",
		Args: cli.Arguments(1, 2),
		ValidArgsFunction: func(
			_ *cobra.Command, args []string, _ string,
		) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), env, args)
		},
	}
	f.Add(cmd)
	f.output.AddShortTo(cmd, "output", "o", "Output format; text is the digest alone")
	return cmd
}

// pulled is the result of pull.
type pulled struct {
	Reference string `json:"reference"`
	Digest    string `json:"digest"`
	Folder    string `json:"folder"`
	Files     int    `json:"files"`
}

func (f *pullFlags) run(ctx context.Context, env *cli.Env, args []string) error {
	if err := f.output.Check(); err != nil {
		return err
	}
	r, err := artifact.Parse(args[0])
	if err != nil {
		return err
	}
	dir := path.Base(r.Repository)
	if r.Folder != "" {
		dir = path.Base(r.Folder)
	}
	if len(args) > 1 {
		dir = args[1]
	}
	a, err := f.Open(ctx, env, args[0])
	if err != nil {
		return err
	}
	t := a.Files
	if err := writeTree(env, t, dir); err != nil {
		return err
	}
	if f.output.Value == outputText {
		_, err := fmt.Fprintln(env.Out, a.Reference.Digest)
		return err
	}
	return cli.Encode(env.Out, f.output.Value, pulled{
		Reference: a.Reference.String(), Digest: a.Reference.Digest.String(), Folder: dir, Files: len(t),
	})
}

// writeTree writes files into a folder that has none, or the same ones.
func writeTree(env *cli.Env, t artifact.Tree, dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("read the folder: %w", err)
	case len(entries) == 0:
		if err := os.Remove(dir); err != nil {
			return fmt.Errorf("replace the empty folder %q: %w", dir, err)
		}
	default:
		have, err := artifact.ReadFolder(dir, nil)
		if err != nil || !have.Equal(t) {
			return fmt.Errorf("the folder %q has other files than the artifact; name another one, or "+
				"remove it first", dir)
		}
		env.Notice(fmt.Sprintf("%s is up to date", dir))
		return nil
	}
	if err := t.Write(dir); err != nil {
		return fmt.Errorf("write the folder %q: %w", dir, err)
	}
	n, files := count(len(t), "file")
	env.Notice(fmt.Sprintf("wrote %d %s into %s", n, files, dir))
	return nil
}
