package adopt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
)

// argoFinalizer begins the names of the finalizers of Argo CD that delete the objects of a deleted
// Application.
const argoFinalizer = "resources-finalizer.argocd.argoproj.io"

// argoInstance is the label by which Argo CD may find its objects. Charts set it too, and selectors
// have it, so that it is no mark that could be removed.
const argoInstance = "app.kubernetes.io/instance"

// readApplication reads an Application of Argo CD: its status names the objects.
func readApplication(ctx context.Context, c Cluster, r Request) (*Set, error) {
	_, name, found := strings.Cut(r.Name, "/")
	if !found {
		name = r.Name
	}
	ref := object.Ref{
		Group: applicationKind.Group, Kind: applicationKind.Kind, Namespace: r.Namespace, Name: name,
	}
	obj, err := readOne(ctx, c, ref, "")
	if err != nil {
		return nil, err
	}
	o := owner.Owner{Kind: owner.Application, Name: name}
	set := &Set{
		Tool: ArgoCD, Program: "argocd", Title: o.String(), name: name, Owners: []owner.Owner{o},
		Managers: []string{"argocd-controller", "argocd-application-controller", "argocd"},
	}
	if err := checkAutomated(set.Title, ref, obj); err != nil {
		return nil, err
	}
	set.Version, _, _ = unstructured.NestedString(obj.Object, "status", "sync", "revision")
	resources, _, _ := unstructured.NestedSlice(obj.Object, "status", "resources")
	var targets []cluster.Target
	for _, item := range resources {
		fields, _ := item.(map[string]any)
		text := func(key string) string { value, _ := fields[key].(string); return value }
		member := object.Ref{
			Group: text("group"), Kind: text("kind"), Namespace: text("namespace"), Name: text("name"),
		}
		if hook, _ := fields["hook"].(bool); hook {
			set.Hooks = append(set.Hooks, Hook{Ref: member, When: "hook of Argo CD"})
			continue
		}
		targets = append(targets, cluster.Target{
			Ref: member, Version: text("version"), ManagedFields: true,
		})
	}
	if err := set.addTargets(ctx, c, targets); err != nil {
		return nil, err
	}
	return set, set.checkTracking(ref, obj)
}

// checkAutomated returns an error if Argo CD would change the objects back by itself.
func checkAutomated(title string, ref object.Ref, obj *unstructured.Unstructured) error {
	automated, found, _ := unstructured.NestedMap(obj.Object, "spec", "syncPolicy", "automated")
	if !found || automated["enabled"] == false {
		return nil
	}
	return &BusyError{title, "is synced automatically, which would change the objects back",
		fmt.Sprintf("first run kubectl patch applications.argoproj.io %s -n %s --type=merge "+
			"-p '{\"spec\":{\"syncPolicy\":{\"automated\":null}}}'", ref.Name, ref.Namespace)}
}

// checkTracking returns an error if deleting the Application would delete the objects, although
// they have lost its marks: Argo CD may find them by a label that stays.
func (s *Set) checkTracking(ref object.Ref, obj *unstructured.Unstructured) error {
	cascades := slices.ContainsFunc(obj.GetFinalizers(), func(name string) bool {
		return strings.HasPrefix(name, argoFinalizer)
	})
	labelled := slices.ContainsFunc(s.Objects, func(o Object) bool {
		return object.LabelsOf(o.Manifest).Get(argoInstance) == s.name
	})
	if cascades && labelled {
		return &BusyError{s.Title, "has a finalizer that deletes its objects, and may find them by the " +
			"label " + argoInstance + ", which stays",
			fmt.Sprintf("first run kubectl patch applications.argoproj.io %s -n %s --type=merge "+
				"-p '{\"metadata\":{\"finalizers\":null}}'", ref.Name, ref.Namespace)}
	}
	s.Notes = append(s.Notes, "the Application stays, out of sync; delete it when you do not need it")
	return nil
}
