// Package artifactflags fetches the artifacts that arguments of commands name. It holds the flags
// for how registries are reached and what an artifact has to be, and the cache.
package artifactflags

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/feature/artifact"
	"github.com/muster-deploy/muster/internal/show/view"
)

// AccessFlags say how registries are reached.
type AccessFlags struct {
	plainHTTP bool
	caFile    string
}

// AddAccess adds the flags.
func (f *AccessFlags) AddAccess(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.plainHTTP, "plain-http", false,
		"Let registries be reached without encryption; those on this host may be anyway")
	flags.StringVar(&f.caFile, "registry-ca-file", "",
		"Path to a cert file for the certificate authority of registries")
}

// Access returns how registries are reached, with progress on a terminal.
func (f *AccessFlags) Access(env *cli.Env) artifact.Access {
	return artifact.Access{
		PlainHTTP: f.plainHTTP, CAFile: f.caFile, UserAgent: "muster/" + cli.Version(),
		Progress: progress(env),
	}
}

// Flags say how artifacts are fetched, and what they have to be.
type Flags struct {
	AccessFlags
	requireDigest bool
	verify        cli.Choice
	signature     artifact.Verification
	opened        map[string]*Artifact
}

// verifyCosign is the value of --verify.
const verifyCosign = "cosign"

// Add adds the flags.
func (f *Flags) Add(cmd *cobra.Command) {
	f.AddAccess(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.requireDigest, "require-digest", false,
		"Refuse artifacts (oci://) that are not named by their digest")
	f.verify = cli.Choice{Meaning: "--verify", Allowed: []string{verifyCosign}}
	f.verify.AddTo(cmd, "verify", "Verify the signatures of artifacts (oci://) by this program "+
		"before they are unpacked")
	flags.StringVar(&f.signature.Key, "key", "",
		"Public key for --verify: a file, or what cosign takes")
	flags.StringVar(&f.signature.Identity, "certificate-identity", "",
		"Who has to have signed, for --verify without a key")
	flags.StringVar(&f.signature.Issuer, "certificate-oidc-issuer", "",
		"Who has to have confirmed that identity, for --verify without a key")
}

// check returns an error for invalid flags.
func (f *Flags) check() error {
	s := f.signature
	if f.verify.Value == "" {
		if s != (artifact.Verification{}) {
			return errors.New("--key, --certificate-identity and --certificate-oidc-issuer are for " +
				"--verify cosign")
		}
		return nil
	}
	if err := f.verify.Check(); err != nil {
		return err
	}
	if (s.Key == "") == (s.Identity == "" && s.Issuer == "") ||
		s.Key == "" && (s.Identity == "" || s.Issuer == "") {
		return errors.New("--verify cosign needs to know whose signature counts: give --key, or " +
			"--certificate-identity and --certificate-oidc-issuer")
	}
	return nil
}

// Artifact is an artifact that was fetched.
type Artifact struct {
	Reference artifact.Reference // with the digest
	Folder    string             // with the files; nothing may be written there
	Root      string             // the folder with all files of the artifact
	Files     artifact.Tree      // that are in the folder
	Images    artifact.Images    // of an imgpkg bundle; else nil
}

// Open fetches the artifact of a reference. In one command, the same reference means the same
// artifact, although its tag may be moved meanwhile.
func (f *Flags) Open(ctx context.Context, env *cli.Env, text string) (*Artifact, error) {
	if a := f.opened[text]; a != nil {
		return a, nil
	}
	r, err := artifact.Parse(text)
	if err == nil {
		err = errors.Join(f.check(), r.CheckVersion())
	}
	if err != nil {
		return nil, err
	}
	if f.requireDigest && r.Digest == "" {
		return nil, fmt.Errorf("%s is not named by its digest, which --require-digest wants: a tag can "+
			"be moved; 'muster artifacts %s' lists digests", r, r.Base())
	}
	cache, err := newCache(env)
	if err != nil {
		return nil, err
	}
	a, err := f.fetch(ctx, env, cache, r)
	if err != nil {
		return nil, err
	}
	if f.opened == nil {
		f.opened = map[string]*Artifact{}
	}
	f.opened[text] = a
	return a, nil
}

// newCache returns the cache of the user.
func newCache(env *cli.Env) (artifact.Cache, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return artifact.Cache{}, fmt.Errorf("find a folder for the cache of artifacts: %w; "+
			"XDG_CACHE_HOME names one", err)
	}
	return artifact.Cache{Dir: filepath.Join(dir, "muster", "artifacts"), Now: env.Now}, nil
}

// fetch resolves a reference, verifies the signature, and unpacks the artifact into the cache.
func (f *Flags) fetch(
	ctx context.Context, env *cli.Env, cache artifact.Cache, r artifact.Reference,
) (*Artifact, error) {
	access := f.Access(env)
	repo, err := access.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	d, cached := cache.Manifest(r.Digest)
	if !cached {
		if d, err = repo.Resolve(ctx); err != nil {
			return nil, err
		}
	}
	if r.Digest == "" {
		r.Digest = d.Digest
		env.Notice(fmt.Sprintf("%s is %s", r.Named(), d.Digest))
	}
	repo.Reference = r
	if f.verify.Value != "" {
		if err := access.Verify(ctx, r, f.signature); err != nil {
			return nil, err
		}
	}
	tree, err := cache.Tree(ctx, repo, d)
	if err != nil {
		return nil, err
	}
	a := &Artifact{Reference: r, Files: tree.Sub(r.Folder)}
	relocated := false
	if a.Images, relocated, err = repo.BundleImages(ctx, tree); err != nil {
		return nil, err
	}
	if len(a.Images) > 0 && !relocated {
		env.Notice(fmt.Sprintf("note: %s is a bundle whose images were not copied to its repository: "+
			"they are used from where its .imgpkg/images.yml says they are", r.Short()))
	}
	dir, err := cache.Folder(d.Digest, tree)
	if err != nil {
		return nil, err
	}
	if r.Folder != "" && !tree.HasFolder(r.Folder) {
		return nil, fmt.Errorf("%s: there is no folder %q in the artifact", r.Named(), r.Folder)
	}
	a.Root, a.Folder = dir, filepath.Join(dir, filepath.FromSlash(r.Folder))
	return a, nil
}

// minProgress is the size of contents whose progress is shown.
const minProgress = 1 << 20

// progress returns a function that shows the progress of transfers on a terminal; nil if there is
// none.
func progress(env *cli.Env) func(done, total int64) {
	terminal, ok := env.Err.(*view.TerminalWriter)
	if !ok || env.Getenv("TERM") == "dumb" {
		return nil
	}
	shown := int64(-1)
	return func(done, total int64) {
		percent := 100 * done / max(total, 1)
		if total < minProgress || percent == shown {
			return
		}
		shown = percent
		fmt.Fprintf(terminal, "\r\x1b[Kfetching: %d of %d MiB", done>>20, total>>20)
		if done >= total {
			fmt.Fprint(terminal, "\r\x1b[K")
		}
	}
}

// Demands reports whether the flags demand something of artifacts.
func (f *Flags) Demands() bool { return f.requireDigest || f.verify.Value != "" }

// References returns the references, with digests, of the artifacts that were fetched.
func (f *Flags) References() []string {
	var all []string
	for _, a := range f.opened {
		all = append(all, a.Reference.String())
	}
	slices.Sort(all)
	return all
}
