package adopt

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// Result is how the last run of a set ended, as far as its record says.
type Result string

// The results. Of a set without a result nothing is known.
const (
	Succeeded  Result = "succeeded"
	Failed     Result = "failed"
	Unfinished Result = "unfinished" // in progress, or interrupted
	Unreadable Result = "unreadable" // the record contradicts itself
)

// Listed is what the record of another tool says about a set.
type Listed struct {
	Kind      string // as in commands: release, applyset, kustomization, helmrelease, application
	Tool      string // helm, flux, argocd or, of an ApplySet, the name and version in its record
	Namespace string // of the record; empty if that has none
	Name      string
	Record    object.Ref
	ID        string // of an ApplySet
	Objects   int    // number of objects; -1 if the record does not say
	Result    Result
	LastRun   time.Time
	Created   time.Time
	Labels    map[string]string // of the record
	Err       error             // why the record is not valid
}

// listing lists the records of one kind.
type listing func(ctx context.Context, c cluster.Reader, namespace string) ([]Listed, error)

// List returns the sets of other tools whose records are in a namespace, or in the whole cluster if
// it is empty, by namespace, name and kind. It sends one list for each kind of record, at once, and
// returns what could be listed together with the errors about the rest. Kinds that the cluster does
// not have are left out.
func List(ctx context.Context, c cluster.Reader, namespace string) ([]Listed, error) {
	lists := []listing{
		releasesIn(secretKind), releasesIn(configMapKind), applySetsIn(secretKind),
		applySetsIn(configMapKind), listApplySetKinds,
		objectsOf(kustomizationKind, listedKustomization),
		objectsOf(helmReleaseKind, listedHelmRelease), objectsOf(applicationKind, listedApplication),
	}
	found, errs := make([][]Listed, len(lists)), make([]error, len(lists))
	var group sync.WaitGroup
	for i, list := range lists {
		group.Go(func() { // it ends with its requests
			found[i], errs[i] = list(ctx, c, namespace)
		})
	}
	group.Wait()
	all := slices.Concat(found...)
	slices.SortFunc(all, func(a, b Listed) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Kind, b.Kind), object.Compare(a.Record, b.Record))
	})
	return all, joinDistinct(errs)
}

// joinDistinct joins errors, each text once: several lists are of one kind.
func joinDistinct(errs []error) error {
	var distinct []error
	for _, err := range errs {
		known := err == nil || slices.ContainsFunc(distinct, func(e error) bool {
			return e.Error() == err.Error()
		})
		if !known {
			distinct = append(distinct, err)
		}
	}
	return errors.Join(distinct...)
}

// unlessUnknown returns an error unless it says that the cluster does not have a kind.
func unlessUnknown(err error) error {
	unknown := (*cluster.UnknownKindError)(nil)
	if errors.As(err, &unknown) && unknown.Cause == nil {
		return nil
	}
	return err
}

// releasesIn returns the listing of Helm releases that are stored in a kind.
func releasesIn(kind schema.GroupKind) listing {
	return func(ctx context.Context, c cluster.Reader, namespace string) ([]Listed, error) {
		found, err := c.ListMetadata(ctx, kind, namespace, map[string]string{helmOwner: helmOwned})
		newest := map[[2]string]Listed{}
		versions := map[[2]string]int{}
		for _, m := range found {
			version, invalid := strconv.Atoi(m.Labels[helmVersion])
			key := [2]string{m.Namespace, m.Labels[helmLabelName]}
			if invalid != nil || key[1] == "" || version <= versions[key] {
				continue
			}
			versions[key] = version
			newest[key] = Listed{
				Kind: "release", Tool: string(Helm), Namespace: m.Namespace, Name: key[1], Objects: -1,
				Record: refTo(kind, m), Result: releaseResult(m.Labels[helmStatus]),
				LastRun: modifiedAt(m), Created: m.CreationTimestamp.Time, Labels: m.Labels,
			}
		}
		listed := make([]Listed, 0, len(newest))
		for _, l := range newest {
			listed = append(listed, l) // List sorts
		}
		return listed, err
	}
}

// refTo returns the identity of an object of a kind by its metadata.
func refTo(kind schema.GroupKind, m metav1.ObjectMeta) object.Ref {
	return object.Ref{Group: kind.Group, Kind: kind.Kind, Namespace: m.Namespace, Name: m.Name}
}

// modifiedAt returns when Helm wrote a revision.
func modifiedAt(m metav1.ObjectMeta) time.Time {
	for _, key := range []string{"modifiedAt", "createdAt"} {
		if seconds, err := strconv.ParseInt(m.Labels[key], 10, 64); err == nil {
			return time.Unix(seconds, 0).UTC()
		}
	}
	return m.CreationTimestamp.Time
}

// releaseResult returns the result for the status of a Helm release.
func releaseResult(status string) Result {
	switch {
	case status == helmDeployed:
		return Succeeded
	case status == "failed":
		return Failed
	case strings.HasPrefix(status, "pending") || status == "uninstalling":
		return Unfinished
	default:
		return ""
	}
}

// applySetsIn returns the listing of ApplySets whose parents are of a kind.
func applySetsIn(kind schema.GroupKind) listing {
	return func(ctx context.Context, c cluster.Reader, namespace string) ([]Listed, error) {
		found, err := c.ListMetadata(ctx, kind, namespace,
			map[string]string{applySetID: cluster.AnyValue})
		listed := make([]Listed, len(found))
		for i, m := range found {
			ref := refTo(kind, m)
			listed[i] = Listed{
				Kind: "applyset", Tool: m.Annotations[applySetTooling], Namespace: m.Namespace,
				Name: m.Name, Record: ref, ID: m.Labels[applySetID], Objects: -1,
				Created: m.CreationTimestamp.Time, Labels: m.Labels,
				Err: checkApplySetID(ref, m.Labels[applySetID]),
			}
			if listed[i].Err != nil {
				listed[i].Result = Unreadable
			}
		}
		return listed, unlessUnknown(err)
	}
}

// listApplySetKinds lists the ApplySets whose parents are custom resources of the kinds that say
// that they may be that.
func listApplySetKinds(ctx context.Context, c cluster.Reader, namespace string) ([]Listed, error) {
	definitions, err := c.List(ctx, definitionKind, "",
		map[string]string{applySetParentType: cluster.AnyValue})
	if err != nil {
		return nil, unlessUnknown(err)
	}
	var all []Listed
	var errs []error
	for _, d := range definitions {
		group, _, _ := unstructured.NestedString(d.Object, "spec", "group")
		name, _, _ := unstructured.NestedString(d.Object, "spec", "names", "kind")
		scope, _, _ := unstructured.NestedString(d.Object, "spec", "scope")
		if scope == "Cluster" && namespace != "" {
			continue // its objects are in no namespace
		}
		found, err := applySetsIn(schema.GroupKind{Group: group, Kind: name})(ctx, c, namespace)
		all, errs = append(all, found...), append(errs, err)
	}
	return all, joinDistinct(errs)
}

// objectsOf returns the listing of objects of a kind that are sets themselves.
func objectsOf(kind schema.GroupKind, of func(*unstructured.Unstructured) Listed) listing {
	return func(ctx context.Context, c cluster.Reader, namespace string) ([]Listed, error) {
		found, err := c.List(ctx, kind, namespace, nil)
		listed := make([]Listed, len(found))
		for i, obj := range found {
			listed[i] = of(obj)
			listed[i].Namespace, listed[i].Name = obj.GetNamespace(), obj.GetName()
			listed[i].Record, listed[i].Created = object.RefOf(obj), obj.GetCreationTimestamp().Time
			listed[i].Labels = obj.GetLabels()
		}
		return listed, unlessUnknown(err)
	}
}

// listedKustomization returns what a Kustomization of Flux says.
func listedKustomization(obj *unstructured.Unstructured) Listed {
	entries, found, _ := unstructured.NestedSlice(obj.Object, "status", "inventory", "entries")
	l := Listed{Kind: "kustomization", Tool: string(Flux), Objects: -1, Result: readyResult(obj)}
	if found {
		l.Objects = len(entries)
	}
	return l
}

// listedHelmRelease returns what a HelmRelease of Flux says. Helm has a record of the release too.
func listedHelmRelease(obj *unstructured.Unstructured) Listed {
	return Listed{Kind: "helmrelease", Tool: string(Flux), Objects: -1, Result: readyResult(obj)}
}

// readyResult returns the result that the condition Ready of an object stands for.
func readyResult(obj *unstructured.Unstructured) Result {
	ready := conditionOf(obj, "Ready")
	switch {
	case ready == nil:
		return ""
	case ready["status"] == "True":
		return Succeeded
	case ready["status"] == "False":
		return Failed
	default:
		return Unfinished
	}
}

// conditionOf returns a condition of an object; nil if the object does not have it.
func conditionOf(obj *unstructured.Unstructured, name string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, item := range conditions {
		if condition, _ := item.(map[string]any); condition["type"] == name {
			return condition
		}
	}
	return nil
}

// listedApplication returns what an Application of Argo CD says.
func listedApplication(obj *unstructured.Unstructured) Listed {
	l := Listed{Kind: "application", Tool: string(ArgoCD), Objects: -1}
	if resources, found, _ := unstructured.NestedSlice(obj.Object, "status", "resources"); found {
		l.Objects = len(resources)
	}
	switch phase, _, _ := unstructured.NestedString(obj.Object, "status", "operationState",
		"phase"); phase {
	case "Succeeded":
		l.Result = Succeeded
	case "Failed", "Error":
		l.Result = Failed
	case "Running", "Terminating":
		l.Result = Unfinished
	}
	return l
}
