package setflags

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/feature/artifact"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/input/files"
)

// fetch replaces the artifacts among the files of a request by folders.
func (f *Flags) fetch(ctx context.Context, env *cli.Env, r *sets.Request) error {
	if f.hasArtifacts && f.Artifacts.Demands() && slices.ContainsFunc(r.Files, isOther) {
		return errors.New("--verify and --require-digest are for artifacts (oci://), and " +
			r.Files[slices.IndexFunc(r.Files, isOther)] + " is none")
	}
	for i, file := range r.Files {
		if !artifact.IsReference(file) {
			continue
		}
		if !f.hasArtifacts {
			return fmt.Errorf("%s: this command needs no files: leave the artifact out, and name the set "+
				"by --record NAME or -a NAME", file)
		}
		dir, err := f.FetchInto(ctx, env, r, file)
		if err != nil {
			return err
		}
		r.Files[i] = dir
	}
	return nil
}

// isOther reports whether a file is not in an artifact.
func isOther(file string) bool { return !artifact.IsReference(file) }

// FetchInto fetches an artifact, adds it to a request, and returns its folder.
func (f *Flags) FetchInto(
	ctx context.Context, env *cli.Env, r *sets.Request, reference string,
) (string, error) {
	a, err := f.Artifacts.Open(ctx, env, reference)
	if err != nil {
		return "", err
	}
	if r.Artifacts == nil {
		r.Artifacts = map[string]files.Artifact{}
	}
	r.Artifacts[a.Folder] = files.Artifact{
		Reference: a.Reference.String(), Name: a.Reference.Short(), Images: a.Images,
		Root: a.Root,
	}
	return a.Folder, nil
}
