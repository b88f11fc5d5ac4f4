package sets

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
)

// Finding is what is probably wrong with a described object.
type Finding struct {
	Ref    object.Ref
	Source string // file and document
	Text   string
}

// String returns the object, its place and the text.
func (f Finding) String() string {
	if f.Source == "" {
		return fmt.Sprintf("%s: %s", f.Ref, f.Text)
	}
	return fmt.Sprintf("%s (%s): %s", f.Ref, f.Source, f.Text)
}

// Lint returns what is probably wrong with the described objects of an operation, in their order,
// as far as that is known before anything is written. The plan must be made. It sends a request
// only if the set creates objects in namespaces of which nothing is known.
func Lint(ctx context.Context, c Cluster, op Operation) ([]Finding, error) {
	missing, err := missingNamespaces(ctx, c, op)
	if err != nil {
		return nil, err
	}
	var found []Finding
	desired, groups := op.Described(), op.UnknownGroups()
	scaled := plan.ReplicasBesideAutoscalers(desired)
	for _, d := range desired {
		ref := object.RefOf(d.Object)
		add := func(format string, args ...any) {
			found = append(found, Finding{ref, d.Source, fmt.Sprintf(format, args...)})
		}
		if home := ref.Namespace; missing[home] {
			add("the namespace %s does not exist; add it to the set, or run: kubectl create namespace %s",
				home, home)
			delete(missing, home) // its first object is enough
		}
		if by, ok := scaled[ref]; ok {
			add("it sets replicas, which %s changes; leave them out", by.Short())
		}
		for _, group := range groups[ref] {
			add("a change rule names the group %q, which no object has", group)
		}
	}
	return found, nil
}

// missingNamespaces returns the namespaces that exist neither in the cluster nor in the set and in
// which objects would be created.
func missingNamespaces(ctx context.Context, c Cluster, op Operation) (map[string]bool, error) {
	known := map[string]bool{"": true, op.Lock().Namespace: true}
	steps := op.Plan().Steps
	for i := range steps {
		if step := &steps[i]; step.Have != nil {
			known[step.Ref.Namespace] = true
		}
		if ref := steps[i].Ref; ref.GroupKind() == plan.NamespaceKind && !steps[i].Op.Removes() {
			known[ref.Name] = true
		}
	}
	var targets []cluster.Target
	for i := range steps {
		if home := steps[i].Ref.Namespace; steps[i].Op == plan.Create && !known[home] {
			known[home] = true
			targets = append(targets, cluster.Target{
				Ref: object.Ref{Kind: plan.NamespaceKind.Kind, Name: home},
			})
		}
	}
	if len(targets) == 0 {
		return nil, nil
	}
	live, err := c.Read(ctx, targets)
	if apierrors.IsForbidden(err) {
		return nil, nil // whoever may not look at namespaces finds out when the objects are written
	}
	if err != nil {
		return nil, fmt.Errorf("look for the namespaces of the set: %w", err)
	}
	missing := map[string]bool{}
	for _, target := range targets {
		if live.Objects[target.Ref] == nil {
			missing[target.Ref.Name] = true
		}
	}
	return missing, nil
}

// UnknownFields returns the described objects with fields that the server does not know, or that
// are repeated. It asks the server about each object that would be written, by a dry run with the
// strict validation of the cluster's client. Objects whose values are not known yet are left out.
func UnknownFields(ctx context.Context, c Cluster, op Operation) ([]Finding, error) {
	p := *op.Plan()
	p.Steps = nil
	for _, step := range op.Plan().Steps {
		if (step.Op == plan.Create || step.Op == plan.Update) && step.Unknown == "" {
			step.Needs, step.After = nil, nil // one error does not hide another
			p.Steps = append(p.Steps, step)
		}
	}
	var found []Finding
	e := &engine.Engine{Cluster: c, Records: record.Discard{}}
	_, err := e.Apply(ctx, &p, engine.Options{DryRun: engine.DryRunServer}, func(e event.Event) {
		if fields := cluster.UnknownFields(e.Err); e.Kind == event.Acted && fields != "" {
			step := &p.Steps[e.Step]
			found = append(found, Finding{step.Ref, step.Source, fields})
		}
	})
	return found, cmp.Or(err, context.Cause(ctx))
}
