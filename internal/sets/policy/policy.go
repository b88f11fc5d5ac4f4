// Package policy makes the policy of a plan from options and from the annotations of objects, in
// the vocabularies of kpt live, of kapp and of muster, whatever the format of the record.
package policy

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/policy/filter"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// The annotations of objects, of any format.
const (
	DependsOnKey = "config.kubernetes.io/depends-on"
	MutationKey  = "config.kubernetes.io/apply-time-mutation"
	onRemoveKey  = "cli-utils.sigs.k8s.io/on-remove"
	deletionKey  = "client.lifecycle.config.k8s.io/deletion"
	changesKey   = "client.lifecycle.config.k8s.io/mutation"

	WaitKey    = "muster.dev/wait"
	timeoutKey = "muster.dev/timeout"

	recreateKey = "muster.dev/recreate"
)

// The field managers of kubectl: the default one, and the one that keeps the last applied
// configuration of objects that moved to server-side apply. The server updates it only for the
// default one.
const (
	DefaultManager     = "kubectl"
	lastAppliedManager = "kubectl-last-applied"
)

//go:embed kinds.yaml
var kindsFile []byte

// kindOrder reads the order in which kinds are written.
func kindOrder() (plan.KindOrder, error) {
	var file struct{ First, Last []string }
	if err := yaml.UnmarshalStrict(kindsFile, &file); err != nil {
		return plan.KindOrder{}, fmt.Errorf("read the order of kinds: %w", err)
	}
	return plan.KindOrder{First: groupKinds(file.First), Last: groupKinds(file.Last)}, nil
}

func groupKinds(names []string) []schema.GroupKind {
	parsed := make([]schema.GroupKind, len(names))
	for i, name := range names {
		parsed[i] = schema.ParseGroupKind(name)
	}
	return parsed
}

// Policy returns the policy for the objects of a set.
func (f Format) Policy(adoption plan.Adoption) (plan.Policy, error) {
	order, err := kindOrder()
	if err != nil {
		return plan.Policy{}, err
	}
	p := AnnotationPolicy()
	p.Order = order
	p.Owner = plan.Owner{
		Adoption:    adoption,
		AdoptHint:   "--inventory-policy=adopt takes it over",
		KeepHint:    "it stays in the cluster and in the record; --inventory-policy=adopt deletes it",
		ForeignHint: "--inventory-policy=force-adopt takes it over",
		Others:      f.FindOthers(nil),
	}
	f.Shape(&p)
	return p, nil
}

// AnnotationPolicy returns the part of a policy that annotations of objects decide, for any kind of
// set.
func AnnotationPolicy() plan.Policy {
	return plan.Policy{
		Annotations: plan.Annotations{
			CreateOnly: []plan.Annotation{{Key: changesKey, Value: "ignore"}},
			Retain: []plan.Annotation{
				{Key: onRemoveKey, Value: "keep"}, {Key: deletionKey, Value: "detach"},
			},
		},
		DependsOn:     DependsOn,
		Substitutions: substitutions,
		Waiting:       waiting,
	}
}

// waitingInBoth parses the annotations of both vocabularies that say how an object is waited for.
func waitingInBoth(obj *unstructured.Unstructured) (plan.Waiting, error) {
	w, err := waiting(obj)
	if _, ok := object.AnnotationsOf(obj).Lookup(resource.AnnDisableWait); ok {
		w.Skip = true
	}
	return w, err
}

// unselected returns why an object is left alone: because a filter does not select it, or else for
// the reason that next returns, if any.
func unselected(
	matching *filter.ResourceFilter, next func(plan.Ordered) string,
) func(plan.Ordered) string {
	return func(o plan.Ordered) string {
		switch {
		case !matching.Matches(o.Object):
			return "the filter does not select it"
		case next == nil:
			return ""
		default:
			return next(o)
		}
	}
}

// excluded returns why a desired object is left alone: because of the annotation for that.
func excluded(o plan.Ordered) string {
	if value, ok := object.AnnotationsOf(o.Object).Lookup(resource.AnnNoop); ok && !o.Removed {
		return fmt.Sprintf("annotation prevents apply (%q: %q)", resource.AnnNoop, value)
	}
	return ""
}

// waiting parses the annotations that say how an object is waited for.
func waiting(obj *unstructured.Unstructured) (plan.Waiting, error) {
	var w plan.Waiting
	annotations := obj.GetAnnotations()
	if text, ok := annotations[WaitKey]; ok {
		wait, err := strconv.ParseBool(text)
		if err != nil {
			return w, fmt.Errorf("annotation %s: %q must be \"true\" or \"false\"", WaitKey, text)
		}
		w.Skip = !wait
	}
	var err error
	w.Timeout, err = timeoutOf(annotations, timeoutKey)
	return w, err
}

// timeoutOf parses the annotation with a key that limits a wait; 0 if there is none.
func timeoutOf(annotations map[string]string, key string) (time.Duration, error) {
	text, ok := annotations[key]
	if !ok {
		return 0, nil
	}
	timeout, err := time.ParseDuration(text)
	if err != nil || timeout <= 0 {
		return 0, fmt.Errorf(
			"annotation %s: %q must be a duration above zero, such as 90s or 5m", key, text,
		)
	}
	return timeout, nil
}

// RecreateHint is what users may do about an immutable field. KIND stands for that of the object.
const RecreateHint = `--recreate KIND, or the annotation ` + recreateKey + `: "true", ` +
	`deletes the object and creates it again`

// isHeld reports whether objects of a kind hold data or other objects, which a deletion may lose.
// Only their name in --recreate, or the annotation, recreates them.
func isHeld(gk schema.GroupKind) bool {
	stateful := schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
	return gk == stateful || slices.Contains(plan.HeldKinds, gk)
}

// Replacement returns when an object is deleted and created again: if a field that changes is
// immutable, and the annotation or the options want it. The annotation has precedence.
func (o Options) Replacement(obj *unstructured.Unstructured) (plan.Replacement, error) {
	recreate := o.Recreates(obj.GroupVersionKind().GroupKind())
	if text, ok := object.AnnotationsOf(obj).Lookup(recreateKey); ok {
		var err error
		if recreate, err = strconv.ParseBool(text); err != nil {
			return "", fmt.Errorf("annotation %s: %q must be \"true\" or \"false\"", recreateKey, text)
		}
	}
	if recreate {
		return plan.ReplaceImmutable, nil
	}
	return "", nil
}

// replacementInBoth returns what replacement does, unless the update strategy of kapp says more.
func (o Options) replacementInBoth(obj *unstructured.Unstructured) (plan.Replacement, error) {
	switch object.AnnotationsOf(obj).Get(resource.AnnUpdateStrategy) {
	case "always-replace":
		return plan.ReplaceAlways, nil
	case "fallback-on-replace":
		return plan.ReplaceImmutable, nil
	default:
		return o.Replacement(obj)
	}
}

// Recreates reports whether the options name a kind of which objects are recreated.
func (o Options) Recreates(gk schema.GroupKind) bool {
	return slices.ContainsFunc(o.Recreate, func(name string) bool { return recreates(name, gk) })
}

// recreates reports whether a value of --recreate names a kind.
func recreates(name string, gk schema.GroupKind) bool {
	if name == "*" {
		return !isHeld(gk)
	}
	return plan.NamesKind(name, gk)
}
