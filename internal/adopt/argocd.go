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
	if err := checkIdle(set.Title, obj); err != nil {
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
	live, err := set.addTargets(ctx, c, targets)
	if err != nil {
		return nil, err
	}
	return set, set.checkTracking(live, obj)
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

// argoTracking is the annotation by which Argo CD finds its objects, unless it is set up to use
// labels alone.
const argoTracking = "argocd.argoproj.io/tracking-id"

// checkTracking returns an error if Argo CD may find objects by a label that stays, although they
// have lost its marks: who deletes the Application later would delete them.
func (s *Set) checkTracking(
	live []*unstructured.Unstructured, app *unstructured.Unstructured,
) error {
	for _, obj := range live {
		if object.LabelsOf(obj).Get(argoInstance) != s.name ||
			slices.ContainsFunc(owner.Of(obj), isOwn) {
			continue
		}
		if object.AnnotationsOf(obj).Get(argoTracking) == "" {
			return &BusyError{s.Title, fmt.Sprintf("may find %s by the label %s, which stays, and would "+
				"delete it with the Application", object.RefOf(obj), argoInstance),
				"first set application.resourceTrackingMethod: annotation in the ConfigMap argocd-cm, and " +
					"sync the Application once"}
		}
		if slices.ContainsFunc(app.GetFinalizers(), isArgoFinalizer) {
			return &BusyError{s.Title, "has a finalizer that deletes its objects, and may find them by " +
				"the label " + argoInstance + ", which stays",
				fmt.Sprintf("first run kubectl patch applications.argoproj.io %s -n %s --type=merge "+
					"-p '{\"metadata\":{\"finalizers\":null}}'", app.GetName(), app.GetNamespace())}
		}
	}
	s.Notes = append(s.Notes, "the Application stays, out of sync; delete it when you do not need "+
		"it, but only with argocd app delete "+s.name+" --cascade=false")
	return nil
}

// isOwn reports whether an owner is a package or an app: what these have been marked has lost the
// annotation of Argo CD by that, or is refused as that of another set.
func isOwn(o owner.Owner) bool { return o.Kind == owner.Package || o.Kind == owner.App }

// isArgoFinalizer reports whether a finalizer deletes the objects of a deleted Application.
func isArgoFinalizer(name string) bool { return strings.HasPrefix(name, argoFinalizer) }

// checkIdle returns an error while Argo CD syncs an Application or deletes it.
func checkIdle(title string, app *unstructured.Unstructured) error {
	_, requested := app.Object["operation"]
	phase, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "phase")
	if requested || phase == "Running" || phase == "Terminating" {
		return &BusyError{title, "is being synced", "wait until that has ended, and try again"}
	}
	if app.GetDeletionTimestamp() != nil {
		return &BusyError{title, "is being deleted", "its objects may go with it: restore it first"}
	}
	return nil
}
