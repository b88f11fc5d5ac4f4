package cmd

import (
	"os"
	"strings"

	"github.com/muster-deploy/muster/internal/apps/lastapplied"
	"github.com/muster-deploy/muster/internal/apps/resource"
)

// explain tells those who debug what was decided: what is done to every object, what is waited for, and what comes before it.
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

// lastApplied is what a live object is compared with if nobody has touched it since it was applied. Why it is so is told to those
// who debug, or who ask for this alone by the variable that kapp has for it.
func (r *rollout) lastApplied(obj live) (base live, ok bool, err error) {
	base, ok, err = lastapplied.Base(obj, r.config)
	asked := os.Getenv("KAPP_DEBUG_RESOURCE_WITH_HISTORY") == "true"
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
