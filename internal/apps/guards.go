package apps

import "github.com/muster-deploy/muster/internal/apps/change"

// checkPruned returns an error if a deployment deletes more objects than the request allows.
func (d *Deployment) checkPruned() error {
	var pruned []string
	for _, c := range d.run.changes {
		strategy, err := c.Strategy()
		if err != nil {
			return err
		}
		if c.ApplyOp() == change.Delete && strategy != change.Orphan {
			pruned = append(pruned, c.Description())
		}
	}
	total := 0
	for _, obj := range withoutTransient(d.live.objects) {
		if !d.live.adopted[obj] {
			total++
		}
	}
	return d.req.MaxPrune.Check(pruned, total)
}
