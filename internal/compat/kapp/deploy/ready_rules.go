package deploy

import (
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/sets/app"
)

// readyRules returns the rules that judge the objects of the run.
func (r *Run) readyRules() engine.Rules {
	return app.KappRules(r.config, r.options.IgnoreFailingAPIServices, r.options.ShowChildren)
}
