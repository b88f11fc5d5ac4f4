package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/apps/resource"
)

// lost ends a deployment whose record somebody has deleted meanwhile: what is left of the app is recorded again or, where there is
// another app of the name by now, named. Failed is the error of the run, if it had one; places are the namespaces of the app.
func (d *deployment) lost(ctx context.Context, failed error, lost *app.LostError, wanted []resource.Resource, places []string) error {
	if heir := d.heir(ctx); heir != nil {
		d.ui.Info(fmt.Sprintf("the app was given another record meanwhile, which has all of it: %s", heir), "App")
		return failed
	}
	left, err := d.remnants(ctx, wanted)
	if err == nil && len(left) == 0 && !d.hidden.any() {
		return errors.Join(failed, fmt.Errorf("App '%s' (namespace: %s) was deleted by another run meanwhile: Nothing is left of it "+
			"(hint: run the command again to deploy it)", d.target.Name, d.target.Namespace))
	}
	if err != nil {
		left = append(left, "what could not be looked for: "+err.Error())
	}
	list := ":\n- " + strings.Join(left, "\n- ")
	var refused error = lost
	if !lost.Other {
		refused = d.target.Restore(ctx, places)
	}
	if refused == nil {
		return errors.Join(failed, fmt.Errorf("App '%s' (namespace: %s) was deleted by another run meanwhile: It is recorded again, with what is left of it"+
			" (hint: run the command again to deploy all of it, or delete it)%s", d.target.Name, d.target.Namespace, list))
	}
	return errors.Join(failed, fmt.Errorf("%w: Nothing records what this run has left"+
		" (hint: delete -a 'label:%s' deletes it; deploy --dangerous-override-ownership-of-existing-resources takes it over)%s",
		refused, d.target.Selector(), list))
}

// heir is the app that has the objects of the deployed one, as after it was renamed; nil if there is none or it cannot be found.
func (d *deployment) heir(ctx context.Context) *app.App {
	apps, err := d.apps.Records.List(ctx, "", nil)
	if err != nil {
		apps, _ = d.apps.Records.List(ctx, d.target.Namespace, nil) // if these cannot be listed either it counts as deleted
	}
	for _, other := range apps {
		if other.Meta.LabelValue == d.target.Meta.LabelValue && other.Meta.LabelKey == d.target.Meta.LabelKey {
			return other
		}
	}
	return nil
}

// remnants names the objects of the app that are there.
func (d *deployment) remnants(ctx context.Context, wanted []resource.Resource) ([]string, error) {
	_, kinds := usedBy(wanted, d.found)
	s := d.session.selection(d.target, d.kinds, false)
	s.Fallback, s.Ignore, s.Kinds = d.within, d.ignorable, distinctKinds(kinds)
	found, err := d.sought(ctx, s)
	var names []string
	for _, obj := range deployed(found) {
		names = append(names, resource.Describe(obj))
	}
	return names, err
}
