package apps

import (
	"context"
	"fmt"
	"strings"

	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/apps/resource"
)

// resolveLostRecord ends a deployment whose record was deleted during the run. It creates the
// record again if objects are left; if there is another app of the name, it names these objects.
func (d *Deployment) resolveLostRecord(
	ctx context.Context, lost *app.RecordDeletedError, namespaces []string,
) error {
	if successor := d.successor(ctx); successor != nil {
		d.Printer.Info(
			fmt.Sprintf("the app was given another record meanwhile, which has all of it: %s",
				successor),
			"App",
		)
		return nil
	}
	left, err := d.leftovers(ctx)
	if err == nil && len(left) == 0 && !d.live.unlistable.any() {
		return fmt.Errorf("App '%s' (namespace: %s) was deleted by another run meanwhile: Nothing is "+
			"left of it (hint: run the command again to deploy it)", d.app.Name, d.app.Namespace)
	}
	if err != nil {
		left = append(left, "what could not be looked for: "+err.Error())
	}
	list := ":\n- " + strings.Join(left, "\n- ")
	var refused error = lost
	if !lost.Recreated {
		refused = d.app.Restore(ctx, namespaces)
	}
	if refused == nil {
		return fmt.Errorf("App '%s' (namespace: %s) was deleted by another run meanwhile: It is "+
			"recorded again, with what is left of it (hint: run the command again to deploy all of "+
			"it, or delete it)%s", d.app.Name, d.app.Namespace, list)
	}
	return fmt.Errorf("%w: Nothing records what this run has left"+
		" (hint: delete -a 'label:%s' deletes it; deploy "+
		"--dangerous-override-ownership-of-existing-resources takes it over)%s",
		refused, d.app.Selector(), list)
}

// successor returns the app that has the label of the deployed one, as after a rename; nil if it
// finds none.
func (d *Deployment) successor(ctx context.Context) *app.App {
	apps, err := d.Records.List(ctx, "", nil)
	if err != nil {
		apps, _ = d.Records.List(ctx, d.app.Namespace,
			nil) // an app that cannot be found counts as deleted
	}
	for _, other := range apps {
		if other.Meta.LabelValue == d.app.Meta.LabelValue &&
			other.Meta.LabelKey == d.app.Meta.LabelKey {
			return other
		}
	}
	return nil
}

// leftovers returns the names of the app's objects that exist now.
func (d *Deployment) leftovers(ctx context.Context) ([]string, error) {
	_, kinds := usedKinds(d.inputs, d.live.objects)
	s := d.selection(d.app, d.req.Search, false)
	s.Fallback, s.Ignore, s.Kinds = d.fallback, d.ignorable, uniqueKinds(kinds)
	found, err := d.selectObjects(ctx, s)
	return describeAll(withoutTransient(found)), err
}

// describeAll returns the names of objects.
func describeAll(objects []liveObject) []string {
	var names []string
	for _, obj := range objects {
		names = append(names, resource.Describe(obj))
	}
	return names
}
