package engine_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

func TestObserve(t *testing.T) {
	for _, tc := range []struct {
		name    string
		options engine.ObserveOptions
		changes []enginetest.Change // of the Deployment, from when it is put there
		refs    []object.Ref
		met     bool
		took    time.Duration
		want    string
	}{
		{
			name: "a look", met: true,
			refs: []object.Ref{ref("ConfigMap/a"), ref("Deployment/web"), ref("ConfigMap/none")},
			want: `configmap/a Current, deployment.apps/web InProgress, configmap/none NotFound`,
		},
		{
			name: "until all are current", met: true, took: 2 * time.Second,
			options: engine.ObserveOptions{Until: engine.UntilCurrent, Timeout: limit.After(time.Minute)},
			refs:    []object.Ref{ref("ConfigMap/a"), ref("Deployment/web")},
			changes: []enginetest.Change{{After: 2 * time.Second, Status: available}},
			want:    `configmap/a Current, deployment.apps/web InProgress, deployment.apps/web Current`,
		},
		{
			name: "until all that is left has failed", took: time.Second,
			options: engine.ObserveOptions{Until: engine.UntilCurrent, Timeout: limit.After(time.Minute)},
			refs:    []object.Ref{ref("ConfigMap/a"), ref("Deployment/web")},
			changes: []enginetest.Change{{After: time.Second, Status: stuck},
				{After: 2 * time.Second, Status: available}},
			want: `configmap/a Current, deployment.apps/web InProgress, deployment.apps/web Failed, ` +
				`deployment.apps/web Failed failed`,
		},
		{
			name: "until all are gone", met: true, took: time.Second,
			options: engine.ObserveOptions{Until: engine.UntilDeleted},
			refs:    []object.Ref{ref("Deployment/web")},
			changes: []enginetest.Change{{After: time.Second, Gone: true}},
			want:    `deployment.apps/web InProgress, deployment.apps/web NotFound`,
		},
		{
			name:    "not for what nobody creates",
			options: engine.ObserveOptions{Until: engine.UntilCurrent, Unattended: closed()},
			refs:    []object.Ref{ref("ConfigMap/a"), ref("ConfigMap/none")},
			want: `configmap/a Current, configmap/none NotFound, ` +
				`configmap/none NotFound failed: it does not exist, and no run is in progress that ` +
				`could create it`,
		},
		{
			name: "but for what may be created", took: 15 * time.Minute,
			options: engine.ObserveOptions{Until: engine.UntilCurrent, Stall: limit.After(15 * time.Minute)},
			refs:    []object.Ref{ref("ConfigMap/none")},
			want:    `configmap/none NotFound, configmap/none NotFound timed out`,
		},
		{
			name: "not for what is deleted and stays away", took: 3 * time.Second,
			options: engine.ObserveOptions{Until: engine.UntilCurrent, Unattended: closed()},
			refs:    []object.Ref{ref("Deployment/web")},
			changes: []enginetest.Change{{After: time.Second, Gone: true}},
			want: `deployment.apps/web InProgress, deployment.apps/web NotFound, ` +
				`deployment.apps/web NotFound failed: it does not exist, and no run is in progress ` +
				`that could create it`,
		},
		{
			name: "as long as something changes", took: 5 * time.Minute,
			options: engine.ObserveOptions{Until: engine.UntilCurrent, Stall: limit.After(3 * time.Minute)},
			refs:    []object.Ref{ref("ConfigMap/a"), ref("Deployment/web")},
			changes: []enginetest.Change{{
				After: 2 * time.Minute, Status: map[string]any{"replicas": int64(1)},
			}},
			want: `configmap/a Current, deployment.apps/web InProgress, ` +
				`deployment.apps/web InProgress, deployment.apps/web InProgress timed out`,
		},
		{
			name: "not for ever", took: time.Minute,
			options: engine.ObserveOptions{Until: engine.UntilForever, Timeout: limit.After(time.Minute)},
			refs:    []object.Ref{ref("ConfigMap/a")},
			want:    `configmap/a Current`,
		},
		{
			name: "not for what is not served", met: false,
			options: engine.ObserveOptions{Until: engine.UntilCurrent},
			refs:    []object.Ref{ref("ConfigMap/a"), ref("Widget/w")},
			want: `configmap/a Current, widget.example.com/w Unknown, ` +
				`widget.example.com/w Unknown timed out`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				w := newWorld(&enginetest.Cluster{
					Script:   map[object.Ref][]enginetest.Change{ref("Deployment/web"): tc.changes},
					Unserved: map[schema.GroupKind]bool{{Group: "example.com", Kind: "Widget"}: true},
				})
				if _, err := w.apply(t.Context(), policy(), within(1),
					want(thing("ConfigMap/a"), thing("Deployment/web"))...); err != nil {
					t.Fatal(err)
				}
				var lines []string
				e := &engine.Engine{Cluster: w.Cluster, Records: w.store}
				met, err := e.Observe(t.Context(), tc.refs, tc.options, func(e event.Event) {
					line := e.Ref.Short() + " " + string(e.Status.State)
					if e.Kind == event.Settled {
						line += " " + string(e.Outcome)
					}
					if e.Err != nil {
						line += ": " + e.Err.Error()
					}
					lines = append(lines, line)
				})
				if err != nil || met != tc.met {
					t.Errorf("observe = %t, %v, want %t", met, err, tc.met)
				}
				if took := time.Since(start).Round(time.Second); took != tc.took {
					t.Errorf("took %s, want %s", took, tc.took)
				}
				if diff := cmp.Diff(tc.want, strings.Join(lines, ", ")); diff != "" {
					t.Errorf("statuses (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// closed returns a channel that is closed.
func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
