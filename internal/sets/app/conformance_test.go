package app

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
	"github.com/muster-deploy/muster/internal/testing/recordtest"
)

// appliedApp is the record of an app that is applied. Its files describe what is saved.
type appliedApp struct {
	*Set
	open func(context.Context) (*Set, error)
}

func (a *appliedApp) Load(ctx context.Context) (_ *record.State, err error) {
	if a.Set, err = a.open(ctx); err == nil {
		err = a.Describe(ctx, nil)
	}
	if err != nil {
		return nil, err
	}
	return a.Set.Load(ctx)
}

func (a *appliedApp) Save(ctx context.Context, state *record.State) error {
	a.inputs, a.plan = nil, &plan.Plan{}
	for _, ref := range state.Refs() {
		a.inputs = append(a.inputs, resource.Resource{Unstructured: objectOf(ref)})
		a.plan.Steps = append(a.plan.Steps, plan.Step{Ref: ref, Op: plan.Update, Wait: true})
	}
	return a.Set.Save(ctx, state)
}

// deletedApp is the record of an app that is deleted.
type deletedApp struct {
	*Deletion
	open func(context.Context) (*Deletion, error)
}

func (d *deletedApp) Load(ctx context.Context) (_ *record.State, err error) {
	if d.Deletion, err = d.open(ctx); err != nil {
		return nil, err
	}
	return d.Deletion.Load(ctx)
}

func objectOf(ref object.Ref) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Group: ref.Group, Version: "v1", Kind: ref.Kind})
	obj.SetNamespace(ref.Namespace)
	obj.SetName(ref.Name)
	return obj
}

// marker makes exactly some objects exist with the label of the app.
func marker(t *testing.T, c *enginetest.Cluster, records *Store, name Name) func(...object.Ref) {
	var marked []object.Ref
	return func(refs ...object.Ref) {
		for _, ref := range marked {
			c.Remove(ref)
		}
		found, err := records.Find(t.Context(), name.Name, name.Namespace)
		if err != nil {
			t.Fatal(err)
		}
		marked = refs
		for _, ref := range refs {
			obj := objectOf(ref)
			obj.SetLabels(map[string]string{found.Meta.LabelKey: found.Meta.LabelValue})
			obj.SetAnnotations(map[string]string{resource.AnnIdentity: resource.Identity(obj)})
			c.Put(obj)
		}
	}
}

// TestConformance runs the records of apps through the suite of record stores.
func TestConformance(t *testing.T) {
	recordtest.Run(t, func(t *testing.T) recordtest.Place {
		c := &enginetest.Cluster{}
		for _, kind := range []string{"ConfigMap", "Secret", "Service", "ServiceAccount"} {
			c.Serve(schema.GroupKind{Kind: kind}, true)
		}
		c.Serve(deployment, true)
		c.Serve(plan.NamespaceKind, false)
		c.Serve(schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}, false)
		now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
		clock := func() time.Time { now = now.Add(time.Second); return now }
		client := &Client{
			Cluster: c, Namespace: "n", Printer: silent{}, Now: clock,
			Records: &Store{Cluster: c, Manager: Manager, Now: clock},
		}
		name := Name{Name: "web", Namespace: "n"}
		return recordtest.Place{
			Open: func() record.Store {
				return &appliedApp{open: func(ctx context.Context) (*Set, error) {
					return client.OpenSet(ctx, SetRequest{App: name, KeepChanges: ChangesToKeep})
				}}
			},
			Destroy: func() record.Store {
				return &deletedApp{open: func(ctx context.Context) (*Deletion, error) {
					return client.OpenDeletion(ctx, DeletionRequest{
						App: name, Search: SearchOptions{RecordedKinds: true}, KeepLeaving: true,
					})
				}}
			},
			Writes: func() int { return len(c.Wrote) },
			Die: func(change int) {
				if c.Revive(); change > 0 {
					c.Dies = change
				}
			},
			Sorted: true,
			Mark:   marker(t, c, client.Records, name),
		}
	})
}

// silent is a Printer that prints nothing.
type silent struct{}

func (silent) Line(string)             {}
func (silent) Info(string, ...string)  {}
func (silent) Debug(string, ...string) {}
