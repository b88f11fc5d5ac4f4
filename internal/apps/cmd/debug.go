package cmd

import (
	"strings"

	"github.com/muster-deploy/muster/internal/apps/lastapplied"
	"github.com/muster-deploy/muster/internal/apps/resource"
)

// explain prints each change for --debug: its operation, what the run waits for, and its
// dependencies.
func (r *rollout) explain() {
	if !r.global.debug {
		return
	}
	for i, c := range r.changes {
		text := c.ApplyOp().Word() + " " + c.Description()
		if wait := c.WaitOp(); wait != "" {
			text += ", wait to " + string(wait)
		}
		var before []string
		for _, j := range r.needs(i) {
			before = append(before, r.changes[j].Description())
		}
		if len(before) > 0 {
			text += ", after " + strings.Join(before, ", ")
		}
		r.ui.Debug(text, "Changes")
	}
}

// lastApplied returns the last applied form of a live object that nobody has changed since. It
// prints the reason for --debug, or if kapp's variable asks for it.
func (r *rollout) lastApplied(obj live) (base live, ok bool, err error) {
	base, ok, err = lastapplied.Base(obj, r.config)
	asked := r.env.Getenv("KAPP_DEBUG_RESOURCE_WITH_HISTORY") == "true"
	if err != nil || !asked && !r.global.debug {
		return base, ok, err
	}
	sum := obj.GetAnnotations()[resource.AnnOriginalDiffMD5]
	text := resource.Describe(obj)
	switch {
	case ok:
		text += " is compared with what was applied last: md5 " + sum + " matches"
	case sum == "":
		text += " is compared with the live object: no md5 is recorded"
	default:
		text += " is compared with the live object: md5 " + sum + " does not match"
	}
	if asked {
		r.ui.Info(text, "History")
	} else {
		r.ui.Debug(text, "History")
	}
	return base, ok, nil
}
