package deploy

import (
	"context"
	"errors"
	"fmt"

	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/input"
	"github.com/muster-deploy/muster/internal/sets/policy/filter"
)

// DeployRequest asks to deploy an app.
type DeployRequest struct {
	App      app.Name
	PrevName string            // the name that the app may have had before; empty for none
	Group    string            // the group that the app belongs to; empty for none
	Labels   map[string]string // of the record

	Input       input.Options
	Preparation input.Preparation // without Namespace, Kinds and Now
	Filter      filter.Flags      // of inputs and live objects
	Patch       bool              // delete nothing
	AllowEmpty  bool              // an app without inputs loses all of its objects

	Search            app.SearchOptions
	AllKinds          bool // search all kinds, and not only those that the app is known to have
	Adopt             bool // adopt live objects without the label of the app
	OverrideOwnership bool // adopt objects of other apps and owners
	// AdoptFrom names the apps in the namespace of this app whose objects it may adopt; empty for
	// those that OverrideOwnership allows.
	AdoptFrom      []string
	ScopeSelectors bool // add the label of the app to selectors

	Run          RunOptions
	Review       Review
	Checks       []string                // preflight checks, instead of those of the configuration
	Summarize    bool                    // the change record has the summary of the changes
	KeepChanges  int                     // how many change records stay
	Logs         LogPrinter              // of pods during the run; nil for none
	AllLogs      bool                    // of all pods, annotated or not
	SaveMetadata func(json string) error // receives the content of the record; nil for none
}

// set returns the request for the app.
func (r *DeployRequest) set() app.SetRequest {
	return app.SetRequest{
		App: r.App, PrevName: r.PrevName, Group: r.Group, Labels: r.Labels,
		Preparation: r.Preparation, Filter: r.Filter, Patch: r.Patch, Search: r.Search,
		AllKinds: r.AllKinds, Pods: r.Logs != nil, Owners: r.Review.Fields || r.Run.ServerSide,
		ScopeSelectors: r.ScopeSelectors, Checks: r.Checks, KeepChanges: r.KeepChanges,
	}
}

// DeployResult is the outcome of a deployment.
type DeployResult struct {
	Changes int // how many changes there were to make
}

// Deploy makes the objects of an app in the cluster the same as its inputs, while the app is
// locked. If the user is asked, that comes before: under the lock the changes are calculated again,
// and have to be the same.
func (c *Client) Deploy(
	ctx context.Context, r DeployRequest,
) (result DeployResult, err error) {
	if r.Review.isPreview() {
		_, result, err = c.proposeDeployment(ctx, r)
		return result, err
	}
	var agreed *Deployment
	if c.asksFirst() {
		if agreed, result, err = c.proposeDeployment(ctx, r); err != nil {
			return result, err
		}
	}
	names := []app.Name{r.App, {Name: r.PrevName, Namespace: r.App.Namespace}}
	err = c.locked(ctx, "deploy", names, func(ctx context.Context, c *Client) (err error) {
		d := agreed
		if agreed == nil {
			d, result, err = c.proposeDeployment(ctx, r)
		} else {
			err = c.checkAgreed(ctx, agreed.App())
		}
		if err != nil {
			return err
		}
		return c.runDeployment(ctx, d)
	})
	return result, err
}

// proposeDeployment calculates and prints the changes, and asks whether they are made if there are
// any. Then the deployment has a plan. A preview is complete.
func (c *Client) proposeDeployment(
	ctx context.Context, r DeployRequest,
) (*Deployment, DeployResult, error) {
	d, err := c.calculateDeployment(ctx, r)
	if err != nil {
		return nil, DeployResult{}, err
	}
	run := d.run
	result := DeployResult{Changes: len(run.changes)}
	if err := r.Review.Print(run); err != nil {
		return nil, result, err
	}
	if err := d.CheckNamespaces(); err != nil {
		return nil, result, err
	}
	if r.Review.Serve != nil {
		return nil, result, r.Review.Serve(ctx, run)
	}
	if err := d.checkStrategies(); err != nil {
		return nil, result, err
	}
	if r.Review.DryRun {
		return nil, result, d.saveMetadata()
	}
	if result.Changes > 0 {
		if err := d.checkWrites(ctx); err != nil {
			return nil, result, err
		}
		if err := c.confirm(ctx); err != nil {
			return nil, result, err
		}
	}
	return d, result, run.buildPlan()
}

// runDeployment makes the changes of an app that is locked.
func (c *Client) runDeployment(ctx context.Context, d *Deployment) error {
	if len(d.run.changes) == 0 {
		if err := d.Commit(ctx); err != nil {
			return err
		}
		if err := d.recordUnchanged(ctx); err != nil {
			return err
		}
		return d.saveMetadata()
	}
	failed, unrecorded, after := d.run.print(ctx, d.execute)
	if failed == nil && unrecorded != nil {
		c.Printer.Info(unrecorded.Error(), "App")
	}
	c.printTrimmed(d.trimmed)
	if after != nil {
		failed = errors.Join(failed, after)
	}
	return failed
}

// printTrimmed prints how many change records were deleted, if any.
func (c *Client) printTrimmed(deleted int) {
	if deleted > 0 {
		c.Printer.Line(fmt.Sprintf("Deleted %d older app changes", deleted))
	}
}
