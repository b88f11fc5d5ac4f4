package adopt

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
func readApplication(ctx context.Context, c cluster.Reader, r Request) (*Set, error) {
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
	system, _, _ := unstructured.NestedString(obj.Object, "status", "controllerNamespace")
	if system != "" && system != r.Namespace {
		o.Namespace = r.Namespace
	}
	set := &Set{
		Tool: ArgoCD, Program: "argocd", Title: o.String(), Owners: []owner.Owner{o},
		Managers: []string{"argocd-controller", "argocd-application-controller", "argocd"},
		Version:  syncedRevision(obj),
	}
	for _, check := range []func(string, *unstructured.Unstructured) error{
		checkDestination, checkAutomated, checkIdle,
	} {
		if err := check(set.Title, obj); err != nil {
			return nil, err
		}
	}
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
	if applier := applierOf(obj); applier != "" {
		set.Notes = append(set.Notes, applier+" applies the Application, and has it synced again if its "+
			"manifest has syncPolicy.automated")
	}
	live, err := set.addTargets(ctx, c, targets, set.isTracked)
	if err != nil {
		return nil, err
	}
	return set, set.checkTracking(live, obj)
}

// syncedRevision returns the revisions that Argo CD synced last or, if it has not synced, those
// with which it has compared the cluster.
func syncedRevision(app *unstructured.Unstructured) string {
	for _, path := range [][]string{{"status", "operationState", "syncResult"}, {"status", "sync"}} {
		of, _, _ := unstructured.NestedMap(app.Object, path...)
		if revision, _ := of["revision"].(string); revision != "" {
			return revision
		}
		if revisions, _, _ := unstructured.NestedStringSlice(of, "revisions"); len(revisions) > 0 {
			return strings.Join(revisions, ", ")
		}
	}
	return ""
}

// isTracked reports whether Argo CD has deployed an object of the application. Its status has
// objects of others too, if a manifest has the name of one and was not synced yet.
func (s *Set) isTracked(obj *unstructured.Unstructured) bool {
	return slices.ContainsFunc(owner.Of(obj), s.Owners[0].Is) ||
		object.LabelsOf(obj).Get(argoInstance) == s.instance() ||
		slices.ContainsFunc(obj.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
			return slices.Contains(s.Managers, e.Manager)
		})
}

// instance returns what the marks of Argo CD call its application.
func (s *Set) instance() string {
	if o := s.Owners[0]; o.Namespace != "" {
		return o.Namespace + "_" + o.Name
	}
	return s.Owners[0].Name
}

// The server and the name by which Argo CD knows the cluster in which it runs.
const ownServer, ownCluster = "https://kubernetes.default.svc", "in-cluster"

// checkDestination returns an error if an application deploys to another cluster. Objects of this
// one may have the same names.
func checkDestination(title string, app *unstructured.Unstructured) error {
	destination, _, _ := unstructured.NestedMap(app.Object, "spec", "destination")
	server, _ := destination["server"].(string)
	name, _ := destination["name"].(string)
	if (server == "" || server == ownServer) && (name == "" || name == ownCluster) {
		return nil
	}
	return fmt.Errorf("%s deploys to another cluster (spec.destination: %s), and its objects cannot "+
		"be adopted in this one", title, cmp.Or(name, server))
}

// checkAutomated returns an error if Argo CD would change the objects back by itself.
func checkAutomated(title string, app *unstructured.Unstructured) error {
	automated, found, _ := unstructured.NestedMap(app.Object, "spec", "syncPolicy", "automated")
	if !found || automated["enabled"] == false {
		return nil
	}
	hint := fmt.Sprintf("first run kubectl patch applications.argoproj.io %s -n %s --type=merge "+
		"-p '{\"spec\":{\"syncPolicy\":{\"automated\":null}}}'", app.GetName(), app.GetNamespace())
	if applier := applierOf(app); applier != "" {
		hint = fmt.Sprintf("first remove syncPolicy.automated from what %s applies, which would restore "+
			"it", applier)
	}
	return &BusyError{title, "is synced automatically, which would change the objects back", hint}
}

// applierOf returns who applies an Application, and would restore fields of it: an ApplicationSet,
// or the owner whose marks it has; empty if nobody does.
func applierOf(app *unstructured.Unstructured) string {
	if controller := metav1.GetControllerOfNoCopy(app); controller != nil {
		return fmt.Sprintf("%s %q", controller.Kind, controller.Name)
	}
	return owner.Text(owner.Of(app))
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
		if object.LabelsOf(obj).Get(argoInstance) != s.instance() ||
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
		"it, but only with argocd app delete "+strings.Replace(s.instance(), "_", "/", 1)+
		" --cascade=false")
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
