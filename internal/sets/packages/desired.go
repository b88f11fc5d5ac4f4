package packages

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Scope is how objects without a namespace get one.
type Scope struct {
	Namespace string // of the flag or the context
	Enforced  bool   // given by flag: no object may be elsewhere
}

// Kinds is the part of a cluster that knows kinds.
type Kinds interface {
	Kind(ctx context.Context, gk schema.GroupKind) (cluster.Kind, error)
	LearnKind(ctx context.Context, crd *unstructured.Unstructured) error
	// AwaitKind waits for a kind that a definition on the server has established a moment ago.
	AwaitKind(ctx context.Context, gvk schema.GroupVersionKind) error
}

// Resolve returns the objects of the package as Scope.Resolve does.
func (p *Package) Resolve(ctx context.Context, c cluster.Writer, s Scope) ([]plan.Desired, error) {
	return s.Resolve(ctx, c, p.Objects, p.warn)
}

// Resolve checks that the cluster or one of the objects defines the kind of each object, and sets
// the namespace of objects that need one. The errors of all objects are joined. Objects that are
// described twice in the same way are returned once, with a warning; warn may be nil.
func (s Scope) Resolve(
	ctx context.Context, c Kinds, objects []manifest.Object, warn func(string),
) ([]plan.Desired, error) {
	first := map[object.Ref]int{} // indices in desired
	var errs []error
	var unknown UnknownKindsError
	for _, obj := range objects {
		if obj.GetKind() == "CustomResourceDefinition" {
			if err := c.LearnKind(ctx, obj.Unstructured); err != nil {
				return nil, err
			}
		}
	}
	desired := make([]plan.Desired, 0, len(objects))
	var repeated []string
	awaited := map[schema.GroupVersionKind]bool{}
	for _, obj := range objects {
		kind, err := kindOf(ctx, c, obj.GroupVersionKind(), awaited)
		if missing := (*cluster.UnknownKindError)(nil); errors.As(err, &missing) && missing.Cause == nil {
			unknown.add(obj, missing.Similar)
			continue
		}
		placed := kind.Namespaced && obj.GetNamespace() == ""
		if err == nil {
			err = errors.Join(s.place(obj, kind), isInventory(obj))
		}
		if unreachable := (*cluster.UnreachableError)(nil); errors.As(err, &unreachable) {
			return nil, err
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", obj.Origin, object.RefOf(obj.Unstructured), err))
			continue
		}
		ref, source := object.RefOf(obj.Unstructured), obj.Origin.String()
		if i, ok := first[ref]; ok && ref.Name != "" {
			if reflect.DeepEqual(desired[i].Object.Object, obj.Object) {
				repeated = append(repeated, fmt.Sprintf(
					"%s is described twice in the same way: in %s and in %s", ref, desired[i].Source, source))
				continue
			}
			errs = append(errs,
				&object.DuplicateError{Ref: ref, First: desired[i].Source, Second: source})
			continue
		}
		first[ref] = len(desired)
		desired = append(desired, plan.Desired{
			Object: obj.Unstructured, Source: source, Placed: placed,
		})
	}
	if len(unknown.Kinds) > 0 {
		errs = append(errs, &unknown)
	}
	warnRepeated(repeated, warn)
	return desired, manifest.Limit(errors.Join(errs...))
}

// kindOf returns the kind of objects. It waits once for one that the cluster does not serve in the
// version, but may in a moment.
func kindOf(
	ctx context.Context, c Kinds, gvk schema.GroupVersionKind,
	awaited map[schema.GroupVersionKind]bool,
) (cluster.Kind, error) {
	kind, err := c.Kind(ctx, gvk.GroupKind())
	missing := (*cluster.UnknownKindError)(nil)
	if awaited[gvk] || err == nil && slices.Contains(kind.Versions(), gvk.Version) ||
		err != nil && (!errors.As(err, &missing) || missing.Cause != nil) {
		return kind, err
	}
	awaited[gvk] = true
	if err := c.AwaitKind(ctx, gvk); err != nil {
		return cluster.Kind{}, err
	}
	return c.Kind(ctx, gvk.GroupKind())
}

// unhonoured are the annotations of kapp that packages cannot honour, with what users may do.
var unhonoured = map[string]string{
	resource.AnnOwnedForDeletion:     "add the object to the package without the annotation",
	resource.AnnDisableOriginal:      "use --server-side, which keeps no copy on the object",
	resource.AnnDisableChildrenWait:  "use " + policy.WaitKey + `: "false"`,
	resource.AnnMinimumAvailable:     "write a rule of readiness",
	resource.AnnDeployLogs:           "remove it; the last lines of the logs of failures are printed",
	resource.AnnDeployLogsContainers: "see " + resource.AnnDeployLogs,
}

// CheckAppAnnotations returns an error for every object with an annotation of kapp that packages
// cannot honour or that has an invalid value, and for every configuration of kapp.
func (p *Package) CheckAppAnnotations() error {
	var errs []error
	for _, obj := range p.Objects {
		_, labelled := object.LabelsOf(obj.Unstructured).Lookup(resource.LabelConfig)
		if isAppConfig(obj.Object) || labelled {
			errs = append(errs, policy.Located(obj, errAppConfig))
			continue
		}
		annotations := obj.GetAnnotations()
		for _, key := range slices.Sorted(maps.Keys(annotations)) {
			if way, ok := unhonoured[key]; ok {
				err := fmt.Errorf("it is not honoured in packages: %s, or deploy the objects as an app", way)
				errs = append(errs, policy.Located(obj, &policy.AnnotationError{Key: key, Err: err}))
			}
		}
	}
	return errors.Join(errors.Join(errs...), policy.CheckAppValues(p.Objects))
}

// maxRepeated limits the warnings about repeated objects.
const maxRepeated = 20

// warnRepeated prints warnings about objects that are described twice in the same way.
func warnRepeated(texts []string, warn func(string)) {
	if warn == nil {
		return
	}
	for _, text := range texts[:min(len(texts), maxRepeated)] {
		warn(text)
	}
	if more := len(texts) - maxRepeated; more > 0 {
		warn(fmt.Sprintf("%d more objects are described twice", more))
	}
}

// place checks the version of an object and sets its namespace.
func (s Scope) place(obj manifest.Object, kind cluster.Kind) error {
	if version := obj.GroupVersionKind().Version; !slices.Contains(kind.Versions(), version) {
		return fmt.Errorf(
			"the cluster does not serve version %s of this kind; it serves %s", version,
			strings.Join(kind.Versions(), ", "),
		)
	}
	namespace := obj.GetNamespace()
	switch {
	case !kind.Namespaced && obj.Origin.Builder != "":
		obj.SetNamespace("") // kustomize does not know the scope of custom resources
	case !kind.Namespaced && namespace != "":
		return &ClusterScopedError{namespace}
	case !kind.Namespaced:
		return nil
	case namespace == "":
		obj.SetNamespace(s.Namespace)
	case s.Enforced && namespace != s.Namespace:
		return &OtherNamespaceError{Namespace: namespace, Want: s.Namespace}
	}
	return nil
}

// isInventory returns an error for an object that has the label of inventories and is not the
// package's, such as the inventory of a subpackage.
func isInventory(obj manifest.Object) error {
	for _, key := range inventory.IDKeys {
		if _, ok := object.LabelsOf(obj.Unstructured).Lookup(key); ok {
			return fmt.Errorf(
				"the label %s marks an inventory, and this is not that of the package; take the label off",
				key,
			)
		}
	}
	return nil
}

// UnknownKindsError reports kinds that neither the cluster nor the package defines.
type UnknownKindsError struct {
	Kinds []UnknownKind // in the order in which they were met, each once
}

// UnknownKind is such a kind, with its first use.
type UnknownKind struct {
	GVK     schema.GroupVersionKind
	origin  manifest.Origin
	similar []schema.GroupVersionKind // of the cluster
}

func (e *UnknownKindsError) Error() string {
	lines := []string{"the cluster does not know these kinds, and the manifests do not define them:"}
	for _, kind := range e.Kinds {
		lines = append(lines,
			fmt.Sprintf("- %s, Kind=%s (%s)%s", kind.GVK.GroupVersion(), kind.GVK.Kind, kind.origin,
				kind.hint()))
	}
	return strings.Join(lines, "\n")
}

// hint returns the kinds that may be meant, as the end of a line; empty if there are none.
func (k UnknownKind) hint() string {
	var places, names []string
	for _, kind := range k.similar {
		places = append(places, kind.GroupVersion().String())
		name := kind.Kind
		if kind.Group != k.GVK.Group {
			name += " (" + kind.GroupVersion().String() + ")"
		}
		names = append(names, name)
	}
	switch {
	case len(k.similar) == 0:
		return ""
	case k.similar[0].Kind == k.GVK.Kind:
		return fmt.Sprintf(": the cluster serves %s in %s", k.GVK.Kind, strings.Join(places, " and "))
	default:
		return ": did you mean " + strings.Join(names, " or ") + "?"
	}
}

// add adds the kind of an object, with similar ones of the cluster.
func (e *UnknownKindsError) add(obj manifest.Object, similar []schema.GroupVersionKind) {
	kind := UnknownKind{obj.GroupVersionKind(), obj.Origin, similar}
	if !slices.ContainsFunc(e.Kinds, func(known UnknownKind) bool { return known.GVK == kind.GVK }) {
		e.Kinds = append(e.Kinds, kind)
	}
}
