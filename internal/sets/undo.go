package sets

import (
	"context"
	"fmt"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// UndoneBy returns a line that says that the files of the set describe other objects than the
// revision, so that their next apply brings those back; empty if they do not, or cannot be read.
// The request names the files.
func (r *Restored) UndoneBy(
	ctx context.Context, c cluster.Writer, request Request, heads []history.Head,
) string {
	folder := request.folder()
	if folder == "" || folder == packages.Stdin {
		return ""
	}
	silent := func(string) {}
	request.Notice = silent
	set, err := Open(ctx, request)
	if err != nil {
		return ""
	}
	op, err := set.PrepareApply(ctx, c, operation.ApplyOptions{
		Options:    policy.Options{AppAnnotations: true, Now: request.Now()},
		Definition: operation.SkipDefinition, Notice: silent,
	})
	if err != nil {
		return ""
	}
	var objects []history.Object
	for _, d := range op.Manifests {
		objects = append(objects, history.Object{Unstructured: d.Object})
	}
	digests, err := contentsOf(objects)
	if err != nil {
		return ""
	}
	if digests[r.Revision.Content] {
		return ""
	}
	for _, h := range heads {
		if digests[h.Content] && h.Err == nil {
			return fmt.Sprintf("%s still describes revision %d: the next apply brings it back", folder,
				h.Number)
		}
	}
	return fmt.Sprintf("%s describes other objects than revision %d: the next apply brings them",
		folder, r.Revision.Number)
}

// contentsOf returns the digests that a revision of some objects may have as its content.
func contentsOf(objects []history.Object) (map[string]bool, error) {
	digests := map[string]bool{}
	for _, withoutSecrets := range []bool{false, true} {
		digest, err := history.Content(objects, withoutSecrets)
		if err != nil {
			return nil, err
		}
		digests[digest] = true
	}
	return digests, nil
}
