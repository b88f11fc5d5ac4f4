package deploy

import (
	"context"

	"github.com/muster-deploy/muster/internal/compat/kapp/change"
	"github.com/muster-deploy/muster/internal/sets/policy/preflight"
)

// preflight runs the preflight checks that the request or the configuration asks for.
func (d *Deployment) preflight(ctx context.Context, changes []*change.Change) error {
	var writes []preflight.PlannedWrite
	for _, c := range changes {
		if op := c.ApplyOp(); op != change.Noop && op != change.Exists {
			writes = append(writes, preflight.PlannedWrite{
				Delete: op == change.Delete, New: c.Applied, Existing: c.Existing,
			})
		}
	}
	return d.CheckPlanned(ctx, writes, d.req.Run.ServerSide)
}
