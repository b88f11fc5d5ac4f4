package adopt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// podKind is a kind whose labels count: others select its objects by them.
var podKind = schema.GroupKind{Kind: "Pod"}

// readSelector reads the objects that somebody deployed with kubectl apply and that a label
// selector finds in a namespace. What is in no namespace may be that of the same set elsewhere.
func readSelector(ctx context.Context, c cluster.Reader, r Request) (*Set, error) {
	parsed, err := labels.Parse(r.Name)
	if err != nil || parsed.Empty() {
		return nil, fmt.Errorf("%q is no label selector: give one, such as app=shop", r.Name)
	}
	set := &Set{
		Tool: Selector, Program: "kubectl",
		Title:    fmt.Sprintf("the set of %q in namespace %s", r.Name, r.Namespace),
		Managers: kubectlManagers,
	}
	if r.DropLabels {
		requirements, _ := parsed.Requirements()
		for _, requirement := range requirements {
			set.Labels = append(set.Labels, requirement.Key())
		}
	}
	found, err := set.selectObjects(ctx, c, cluster.Selection{
		Selector: r.Name, ManagedFields: true, Fallback: []string{r.Namespace}, OnlyFallback: true,
	})
	if err != nil {
		return nil, err
	}
	var others, global []string
	for _, obj := range found {
		if obj.GetNamespace() == "" {
			global = append(global, object.RefOf(obj).String())
			continue
		}
		if !isApplied(obj) {
			others = append(others, object.RefOf(obj).String())
			continue
		}
		if r.DropLabels && object.RefOf(obj).GroupKind() == podKind {
			return nil, fmt.Errorf("%s would lose the labels of the selector, by which Services may find "+
				"it: adopt the set as an app (--to app), without --drop-labels", object.RefOf(obj))
		}
		set.addLive(obj)
	}
	if len(global) > 0 {
		slices.Sort(global)
		set.Notes = append(set.Notes, "these objects are in no namespace, so that they may be those of "+
			"others; they are left out: "+strings.Join(global, ", "))
	}
	if len(others) > 0 {
		slices.Sort(others)
		set.Notes = append(set.Notes, "these objects carry the labels and were not deployed with "+
			"kubectl apply; they are left out: "+strings.Join(others, ", "))
	}
	return set, nil
}

// isApplied reports whether kubectl apply wrote an object.
func isApplied(obj *unstructured.Unstructured) bool {
	_, recorded := object.AnnotationsOf(obj).Lookup(kubectlApplied)
	is := func(e metav1.ManagedFieldsEntry) bool {
		return e.Operation == metav1.ManagedFieldsOperationApply &&
			slices.Contains(kubectlManagers, e.Manager)
	}
	return recorded || slices.ContainsFunc(obj.GetManagedFields(), is)
}

// isAppliedAs reports whether kubectl apply wrote an object that a controller owns. Controllers may
// copy all annotations of an object to those that they make for it.
func isAppliedAs(obj *unstructured.Unstructured) bool {
	recorded := &unstructured.Unstructured{}
	text := object.AnnotationsOf(obj).Get(kubectlApplied)
	copied := text != "" && (recorded.UnmarshalJSON([]byte(text)) != nil ||
		recorded.GetKind() != obj.GetKind() || recorded.GetName() != obj.GetName())
	return !copied && isApplied(obj)
}
