package look

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/feature/drift"
	"github.com/muster-deploy/muster/internal/object"
)

// watchPause is the least time between two comparisons: objects change often while they start.
const watchPause = time.Second

// follow watches the objects of the set, compares again when one changes, and prints what is
// different, until the context ends.
func (f *DriftFlags) follow(ctx context.Context, env *cli.Env, r *DriftResult) error {
	changed := make(chan struct{}, 1)
	byKind := map[schema.GroupKind][]object.Ref{}
	for _, ref := range r.Drift.Compared {
		byKind[ref.GroupKind()] = append(byKind[ref.GroupKind()], ref)
	}
	for _, refs := range byKind { // the watches end with the context
		r.Cluster.Watch(ctx, refs, func(cluster.ObjectEvent) {
			select {
			case changed <- struct{}{}:
			default: // a comparison is due already
			}
		})
	}
	pause := time.NewTimer(watchPause)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-pause.C:
			pause.Reset(watchPause)
		}
		before := r.Drift
		if err := r.find(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if err := f.printChanges(env, before.Objects, r.Drift.Objects); err != nil {
			return fmt.Errorf("write the output: %w", err)
		}
	}
}

// printChanges prints the objects that drifted since the last comparison, and those that do not
// differ any more.
func (f *DriftFlags) printChanges(env *cli.Env, before, now []drift.Object) error {
	known := drifting(before)
	for i := range now {
		o := &now[i]
		was := known[o.Ref]
		if o.Counts() {
			delete(known, o.Ref)
		}
		if !o.Counts() || was != nil && reflect.DeepEqual(driftKey(was), driftKey(o)) {
			continue
		}
		if err := f.printChange(env, o); err != nil {
			return err
		}
	}
	for i := range before {
		o := &before[i]
		if known[o.Ref] == nil {
			continue
		}
		if f.output.Value == cli.OutputJSON {
			item := newDriftItem(&drift.Object{Ref: o.Ref, Kind: drift.Changed, Source: o.Source})
			if err := json.NewEncoder(cli.Raw(env.Out)).Encode(item); err != nil {
				return err
			}
		} else if err := env.Print("= " + o.Ref.String() + "   as it was deployed"); err != nil {
			return err
		}
	}
	return nil
}

func (f *DriftFlags) printChange(env *cli.Env, o *drift.Object) error {
	if f.output.Value == cli.OutputJSON {
		return json.NewEncoder(cli.Raw(env.Out)).Encode(newDriftItem(o))
	}
	return printObject(env.Out, o, env.Now())
}

// drifting returns the objects that drifted, by their names.
func drifting(objects []drift.Object) map[object.Ref]*drift.Object {
	found := map[object.Ref]*drift.Object{}
	for i := range objects {
		if objects[i].Counts() {
			found[objects[i].Ref] = &objects[i]
		}
	}
	return found
}

// driftKey returns what is the same as long as an object differs in the same way.
func driftKey(o *drift.Object) []any {
	key := []any{o.Kind, o.Deleting}
	for _, f := range o.Drifted() {
		key = append(key, f.Path, f.Is, f.Managers)
	}
	return key
}
