package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/run"
	"github.com/muster-deploy/muster/controller/internal/window"
	"github.com/muster-deploy/muster/internal/base/boundedcel"
)

// block is why a Set is not deployed yet.
type block struct {
	reason, message string
	stalled         bool // nothing happens without a change of a Set
}

// report writes the block.
func (b *block) report(c conditions) {
	c.is(v1alpha1.ConditionReady, false, b.reason, b.message)
	if b.stalled {
		c.is(v1alpha1.ConditionStalled, true, b.reason, b.message)
		c.remove(v1alpha1.ConditionReconciling)
		return
	}
	c.is(v1alpha1.ConditionReconciling, true, b.reason, b.message)
	c.remove(v1alpha1.ConditionStalled)
}

// blocked returns what a Set has to wait for, nil for nothing. A Set that is ready brings its
// dependents back.
func (r *Reconciler) blocked(ctx context.Context, set *v1alpha1.Set) *block {
	if cycle := r.cycle(ctx, set); cycle != "" {
		return &block{"DependencyCycle", "the Sets depend on each other: " + cycle, true}
	}
	for _, d := range set.Spec.DependsOn {
		dep := &v1alpha1.Set{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: d.Name}, dep)
		switch {
		case apierrors.IsNotFound(err):
			return &block{"DependencyNotFound", fmt.Sprintf("there is no Set %s", d.Name), false}
		case err != nil:
			return &block{"DependencyNotRead", err.Error(), false}
		case !IsReady(dep):
			return &block{"DependencyNotReady", fmt.Sprintf("Set %s is not ready", d.Name), false}
		case d.Expr == "":
			continue
		}
		program, err := compile(d.Expr)
		if err != nil {
			return &block{"DependencyInvalid", fmt.Sprintf("expr of Set %s: %v", d.Name, err), true}
		}
		met, err := evaluate(program, set, dep)
		if err != nil { // such as a field that a Set does not have yet
			return &block{"DependencyNotReady", fmt.Sprintf("expr of Set %s: %v", d.Name, err), false}
		}
		if !met {
			return &block{"DependencyNotReady", fmt.Sprintf("Set %s: %s is false", d.Name, d.Expr), false}
		}
	}
	return nil
}

// IsReady reports whether what the spec of a Set says now is applied and ready.
func IsReady(set *v1alpha1.Set) bool {
	ready := readyOf(set)
	return ready != nil && ready.Status == "True" && ready.ObservedGeneration == set.Generation &&
		set.Status.Revision.Applied == set.Status.Revision.Attempted
}

// cycle returns the Sets that depend on each other and on this one, with arrows between them; empty
// if there are none.
func (r *Reconciler) cycle(ctx context.Context, set *v1alpha1.Set) string {
	seen := map[string]bool{}
	var follow func(name string, path []string) string
	follow = func(name string, path []string) string {
		if name == set.Name {
			return strings.Join(append(path, name), " → ")
		}
		if seen[name] {
			return ""
		}
		seen[name] = true
		dep := &v1alpha1.Set{}
		if r.Client.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: name}, dep) != nil {
			return ""
		}
		for _, d := range dep.Spec.DependsOn {
			if found := follow(d.Name, append(path[:len(path):len(path)], name)); found != "" {
				return found
			}
		}
		return ""
	}
	for _, d := range set.Spec.DependsOn {
		if found := follow(d.Name, []string{set.Name}); found != "" {
			return found
		}
	}
	return ""
}

// maxCost limits the work of an expression, in the unit of boundedcel.
const maxCost = 10_000

// compile returns an expression of two Sets.
func compile(expr string) (*boundedcel.Program, error) {
	env, err := boundedcel.NewEnv(maxCost,
		cel.Variable("self", cel.DynType), cel.Variable("dep", cel.DynType))
	if err != nil {
		return nil, err
	}
	parsed, issues := env.Compile(expr)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	return env.Program(parsed)
}

// evaluate returns the value of an expression of two Sets.
func evaluate(program *boundedcel.Program, self, dep *v1alpha1.Set) (bool, error) {
	values := map[string]any{}
	for name, set := range map[string]*v1alpha1.Set{"self": self, "dep": dep} {
		var err error
		if values[name], err = runtime.DefaultUnstructuredConverter.ToUnstructured(set); err != nil {
			return false, err
		}
	}
	value, err := program.Eval(values)
	if err != nil {
		return false, err
	}
	met, ok := value.Value().(bool)
	if !ok {
		return false, fmt.Errorf("the value is a %s, not a bool", value.Type().TypeName())
	}
	return met, nil
}

// refuses returns why a Set cannot be kept; an empty reason if it can.
func (r *Reconciler) refuses(
	ctx context.Context, set *v1alpha1.Set,
) (reason, message string) {
	if r.Runner.ServiceAccount(set) == "" && set.Spec.Cluster == nil {
		return "NoServiceAccount", "spec.serviceAccountName is missing: name a service account of " +
			"the namespace, as which the objects are deployed"
	}
	if why := crashedText(set); why != "" {
		return "ControllerCrashed", why
	}
	if why := r.Runner.Abandoned(client.ObjectKeyFromObject(set), run.Deploy); why != "" {
		return "RunAbandoned", why
	}
	if kind := r.forbiddenArtifact(set); kind != "" {
		return "ArtifactKindNotAllowed", fmt.Sprintf("the controller does not read sources of kind %s: "+
			"its flag --artifact-kind names those that it does", kind)
	}
	if err := window.Check(set.Spec.Windows, time.Now()); err != nil {
		return "WindowInvalid", err.Error()
	}
	if other := r.sameRecord(ctx, set, true); other != "" {
		return "RecordInUse", fmt.Sprintf("the older Set %s has the same record; give one of them "+
			"another name", other)
	}
	return "", ""
}

// forbiddenArtifact returns the kind of the source of a Set if the controller does not read it;
// otherwise empty.
func (r *Reconciler) forbiddenArtifact(set *v1alpha1.Set) string {
	a := set.Spec.Source.Artifact
	if a == nil {
		return ""
	}
	kind := schema.FromAPIVersionAndKind(a.APIVersion, a.Kind).GroupKind().String()
	if slices.Contains(r.ArtifactKinds, kind) {
		return ""
	}
	return kind
}

// sameRecord returns the name of another Set of the shard with the same record, or only of an older
// one; empty if there is none.
func (r *Reconciler) sameRecord(ctx context.Context, set *v1alpha1.Set, onlyOlder bool) string {
	all := &v1alpha1.SetList{}
	err := r.Client.List(ctx, all, client.InNamespace(set.Namespace),
		client.MatchingFields{indexRecord: recordKey(set)})
	if err != nil {
		return ""
	}
	for i := range all.Items {
		other := &all.Items[i]
		older := other.CreationTimestamp.Before(&set.CreationTimestamp) ||
			other.CreationTimestamp.Equal(&set.CreationTimestamp) && other.Name < set.Name
		if other.Name != set.Name && (older || !onlyOlder) {
			return other.Name
		}
	}
	return ""
}
