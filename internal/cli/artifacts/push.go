package artifacts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/artifactflags"
	"github.com/muster-deploy/muster/internal/feature/artifact"
	"github.com/muster-deploy/muster/internal/history/origin"
	"github.com/muster-deploy/muster/internal/sets/packages"
)

// pushFlags are the flags of push.
type pushFlags struct {
	artifactflags.AccessFlags
	tags         []string
	annotations  []string
	sign         bool
	key          string
	allowSecrets bool
	output       cli.Choice
}

func newPush(env *cli.Env) *cobra.Command {
	f := pushFlags{output: newOutput()}
	cmd := &cobra.Command{
		Use:   "push FOLDER oci://REGISTRY/REPOSITORY[:TAG]",
		Short: "Push a folder of manifests to a registry as an OCI artifact",
		Long: `Push a folder of manifests to a registry as an OCI artifact, and print its digest. Flux, Argo CD and
Config Sync read the artifact, too.

The same files make the same archive: the archive has no times, owners or other properties of this
host. In a git work tree, the last commit that changed the folder is noted (its time, or that in
SOURCE_DATE_EPOCH, as the time of creation). Pushing what the registry has uploads nothing.

.krmignore holds. The inventory of a package is left out, since it names the record of one cluster.
Secrets with data are refused without --allow-secrets, and links and more than 100 MiB always.

Credentials are those of 'docker login': they are read from docker's configuration and its helpers.

Exit codes:
  0    the registry has the artifact
  1    it does not have it, or it is not tagged or signed: the error says which
  130  interrupted`,
		Example: "  " + env.Name() + " push shop oci://registry.example.com/team/shop --tag 1.4.0\n" +
			"  " + env.Name() + " push shop oci://registry.example.com/team/shop --tag 1.4.0 --sign " +
			"--key cosign.key",
		Args: cli.Arguments(2, 2),
		ValidArgsFunction: func(
			cmd *cobra.Command, args []string, word string,
		) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return cli.CompleteAllFolders(cmd, args, word)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), env, args[0], args[1])
		},
	}
	f.AddAccess(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.tags, "tag", nil, "Tag of the artifact (can repeat)")
	flags.StringArrayVar(&f.annotations, "annotation", nil,
		"KEY=VALUE for the manifest of the artifact (can repeat)")
	flags.BoolVar(&f.sign, "sign", false, "Sign the artifact with the program cosign, before it is "+
		"tagged")
	flags.StringVar(&f.key, "key", "", "Private key for --sign; without one, cosign signs with the "+
		"identity of the user")
	flags.BoolVar(&f.allowSecrets, "allow-secrets", false,
		"Push Secrets with data: whoever may pull the artifact can read them")
	f.output.AddShortTo(cmd, "output", "o", "Output format; text is the digest alone")
	return cmd
}

// pushed is the result of push.
type pushed struct {
	Reference   string            `json:"reference"`
	Digest      string            `json:"digest"`
	Tags        []string          `json:"tags,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Files       int               `json:"files"`
	Bytes       int               `json:"bytes"` // of the archive
	Signed      bool              `json:"signed,omitempty"`
}

func (f *pushFlags) run(ctx context.Context, env *cli.Env, dir, text string) error {
	r, err := f.target(text)
	if err != nil {
		return err
	}
	t, err := f.read(ctx, env, dir)
	if err != nil {
		return err
	}
	if err := checkBases(ctx, env, t, dir, r, f.tags); err != nil {
		return err
	}
	annotations, err := f.describe(ctx, env, dir)
	if err != nil {
		return err
	}
	a, err := artifact.Build(t, annotations)
	if err != nil {
		return err
	}
	if err := f.push(ctx, env, r, a); err != nil {
		return err
	}
	if f.output.Value == outputText {
		_, err := fmt.Fprintln(env.Out, a.Digest())
		return err
	}
	r.Tag, r.Digest = "", a.Digest()
	return cli.Encode(env.Out, f.output.Value, pushed{
		Reference: r.String(), Digest: a.Digest().String(), Tags: f.tags, Annotations: annotations,
		Files: len(t), Bytes: len(a.Layer), Signed: f.sign,
	})
}

// target checks the flags and returns the repository. A tag of the reference counts as one of the
// flags.
func (f *pushFlags) target(text string) (artifact.Reference, error) {
	if err := f.output.Check(); err != nil {
		return artifact.Reference{}, err
	}
	r, err := artifact.Parse(text)
	switch {
	case err != nil:
		return r, err
	case r.Digest != "" || r.Folder != "":
		return r, fmt.Errorf("%s: push makes a digest and takes none, nor a folder in the artifact", r)
	case f.key != "" && !f.sign:
		return r, errors.New("--key is for --sign")
	}
	if r.Tag != "" && !slices.Contains(f.tags, r.Tag) {
		f.tags = append([]string{r.Tag}, f.tags...)
	}
	r.Tag = ""
	for _, tag := range f.tags {
		if other, err := artifact.Parse(r.Base() + ":" + tag); err != nil || other.Tag != tag {
			return r, fmt.Errorf("--tag %q is no tag", tag)
		}
	}
	return r, nil
}

// checkBases returns an error for a kustomization that the artifact builds and that names what the
// artifact would not have. It warns of another one.
func checkBases(
	ctx context.Context, env *cli.Env, t artifact.Tree, dir string, r artifact.Reference,
	tags []string,
) error {
	var names []string
	for _, name := range t.Paths() {
		if packages.IsKustomization(name) {
			names = append(names, name)
		}
	}
	built, err := packages.Built(ctx, dir, names)
	if err != nil {
		return err
	}
	outside := (*packages.OutsideError)(nil)
	err = packages.CheckOutside(ctx, dir, built)
	if errors.As(err, &outside) {
		if len(tags) > 0 {
			r.Tag = tags[0]
		}
		r.Folder = outside.Inside
		return fmt.Errorf("%w\nnothing was pushed; push %q, which holds all of it, and deploy %s",
			err, outside.Holder, r)
	}
	if err != nil {
		return err
	}
	err = packages.CheckOutside(ctx, dir, slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains(built, name)
	}))
	if errors.As(err, &outside) {
		env.Notice("Warning: " + err.Error())
		return nil
	}
	return err
}

// read returns the files of a folder that others may have.
func (f *pushFlags) read(
	ctx context.Context, env *cli.Env, dir string,
) (artifact.Tree, error) {
	ignored, err := packages.Ignored(dir)
	if err != nil {
		return nil, err
	}
	t, err := artifact.ReadFolder(dir, ignored)
	if err != nil {
		return nil, err
	}
	var errs []error
	secrets := false
	for _, name := range t.Paths() {
		file, err := packages.Share(ctx, name, t[name].Data)
		errs = append(errs, err)
		switch {
		case file.Inventory:
			env.Notice(fmt.Sprintf("%s is left out: it is the inventory of one cluster", name))
			delete(t, name)
		case file.Stripped:
			env.Notice(fmt.Sprintf("the inventory in %s is left out: it is that of one cluster", name))
			t[name] = artifact.File{Data: file.Text, Executable: t[name].Executable}
		}
		for _, text := range file.Foreign {
			env.Notice(fmt.Sprintf("Warning: %s: %s; other tools may read it, muster refuses it or takes "+
				"it for an ordinary object", name, text))
		}
		for _, secret := range file.Secrets {
			secrets = true
			if f.allowSecrets {
				env.Notice(fmt.Sprintf("Warning: %s holds %s, which whoever may pull the artifact can read",
					name, secret))
				continue
			}
			errs = append(errs, fmt.Errorf("%s holds %s, which whoever may pull the artifact could read",
				name, secret))
		}
	}
	if err := errors.Join(errs...); err != nil {
		if secrets && !f.allowSecrets {
			err = fmt.Errorf("%w\nnothing was pushed; leave Secrets out with .krmignore, or push them "+
				"with --allow-secrets", err)
		}
		return nil, err
	}
	if len(t) == 0 {
		return nil, fmt.Errorf("there are no files in %q", dir)
	}
	return t, nil
}

// describe returns the annotations of the artifact.
func (f *pushFlags) describe(
	ctx context.Context, env *cli.Env, dir string,
) (map[string]string, error) {
	annotations := map[string]string{}
	if last := origin.Changed(ctx, dir); last != nil {
		annotations[artifact.AnnotationRevision] = last.Commit
		if last.Dirty {
			annotations[artifact.AnnotationRevision] += "-dirty"
		}
		annotations[artifact.AnnotationCreated] = last.Time.Format(time.RFC3339)
		if last.Remote != "" {
			annotations[artifact.AnnotationSource] = last.Remote
		}
	}
	if epoch := env.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("SOURCE_DATE_EPOCH is %q, which is no number of seconds", epoch)
		}
		annotations[artifact.AnnotationCreated] = time.Unix(seconds, 0).UTC().Format(time.RFC3339)
	}
	for _, text := range f.annotations {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--annotation %q is not KEY=VALUE", text)
		}
		annotations[key] = value
	}
	return annotations, nil
}

// push uploads, signs and tags the artifact.
func (f *pushFlags) push(
	ctx context.Context, env *cli.Env, r artifact.Reference, a *artifact.Artifact,
) error {
	access := f.Access(env)
	repo, err := access.Open(ctx, r)
	if err != nil {
		return err
	}
	uploaded, err := repo.Push(ctx, a)
	if err != nil {
		return err
	}
	exact := r
	exact.Digest = a.Digest()
	if f.sign {
		if err := access.Sign(ctx, exact, f.key); err != nil {
			return fmt.Errorf("%w; it was pushed, and has no new tag", err)
		}
	}
	for _, tag := range f.tags {
		before, err := repo.SetTag(ctx, a, tag)
		if err != nil {
			return err
		}
		if before.Digest != "" && before.Digest != a.Digest() {
			env.Notice(fmt.Sprintf("tag %s was moved from %s", tag, before.Digest))
		}
	}
	if uploaded {
		env.Notice(fmt.Sprintf("pushed %s (%d kB)", exact.Short(), (len(a.Layer)+999)/1000))
	} else {
		env.Notice(fmt.Sprintf("the registry already has %s", exact.Short()))
	}
	return nil
}
