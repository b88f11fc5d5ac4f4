package reconcile

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/run"
)

// workers is how many Sets are decided about at once. A worker is busy for milliseconds.
const workers = 8

// pauses returns the pauses before a Set is looked at again that could not be read or written. They
// end soon after an API server that was away for long is back, as nothing else brings the worker
// back then.
func pauses() workqueue.TypedRateLimiter[ctrl.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](firstPause, longestPause)
}

// The limits of the pauses.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = 15 * time.Second
)

// SetUp adds the controller to a manager.
func (r *Reconciler) SetUp(ctx context.Context, mgr manager.Manager) error {
	r.base = ctx
	r.wake = make(chan event.TypedGenericEvent[types.NamespacedName], 1024)
	for name, values := range indexes {
		err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.Set{}, name,
			func(o client.Object) []string { return values(o.(*v1alpha1.Set)) })
		if err != nil {
			return err
		}
	}
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("set").
		For(&v1alpha1.Set{}, builder.WithPredicates(predicate.Or[client.Object](
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{},
			predicate.LabelChangedPredicate{}, deleted{}))).
		WatchesMetadata(&corev1.ConfigMap{}, r.users(indexConfigMaps)).
		WatchesMetadata(&corev1.Secret{}, r.users(indexSecrets)).
		Watches(&v1alpha1.Set{}, r.users(indexDependsOn)).
		Watches(&v1alpha1.Set{}, handler.EnqueueRequestsFromMapFunc(r.sharers)).
		WatchesRawSource(source.TypedChannel(r.wake, woken)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			EnableWarmup:            new(true), // a replica that waits has its caches filled
			RateLimiter:             pauses(),
		}).
		Build(r)
	if err != nil {
		return err
	}
	r.kinds.manager, r.kinds.controller, r.kinds.users = mgr, c, r.artifactUsers
	r.kinds.watched = map[schema.GroupVersionKind]bool{}
	return nil
}

// deleted lets the changes of Sets pass that are being deleted.
type deleted struct{ predicate.Funcs }

// Update reports whether the Set is being deleted.
func (deleted) Update(e event.UpdateEvent) bool {
	return !e.ObjectNew.GetDeletionTimestamp().IsZero()
}

// woken brings the worker back to the Set of an event.
var woken = handler.TypedFuncs[types.NamespacedName, ctrl.Request]{
	GenericFunc: func(_ context.Context, e event.TypedGenericEvent[types.NamespacedName],
		q workqueue.TypedRateLimitingInterface[ctrl.Request],
	) {
		q.Add(ctrl.Request{NamespacedName: e.Object})
	},
}

// users returns a handler that brings the worker back to the Sets that have the name of an object
// in an index.
func (r *Reconciler) users(index string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(
		func(ctx context.Context, o client.Object) []ctrl.Request {
			return r.indexed(ctx, o.GetNamespace(), index, o.GetName())
		})
}

// sharers returns the Sets with the record of a Set: one that ends makes room for another.
func (r *Reconciler) sharers(ctx context.Context, o client.Object) []ctrl.Request {
	set, ok := o.(*v1alpha1.Set)
	if !ok {
		return nil
	}
	return slices.DeleteFunc(r.indexed(ctx, set.Namespace, indexRecord, recordKey(set)),
		func(other ctrl.Request) bool { return other.Name == set.Name })
}

// artifactUsers returns the Sets whose source is an artifact.
func (r *Reconciler) artifactUsers(ctx context.Context, o client.Object) []ctrl.Request {
	gvk := o.GetObjectKind().GroupVersionKind()
	return r.indexed(ctx, o.GetNamespace(), indexArtifact, artifactKey(gvk, o.GetName()))
}

// indexed returns the Sets of a namespace that have a value in an index.
func (r *Reconciler) indexed(
	ctx context.Context, namespace, index, value string,
) (found []reconcile.Request) {
	list := &v1alpha1.SetList{}
	err := r.Client.List(ctx, list, client.InNamespace(namespace),
		client.MatchingFields{index: value})
	if err != nil {
		return nil // only an index that does not exist fails
	}
	for i := range list.Items {
		name := client.ObjectKeyFromObject(&list.Items[i])
		found = append(found, ctrl.Request{NamespacedName: name})
	}
	return found
}

// recordKey returns the value of indexRecord: the record of a Set, and its cluster. That two
// Secrets are about the same cluster is not known.
func recordKey(s *v1alpha1.Set) string {
	cluster := ""
	if s.Spec.Cluster != nil {
		cluster = s.Spec.Cluster.KubeconfigSecretRef.Name
	}
	return cluster + " " + run.RecordOf(s).String()
}

// kinds watches the kinds of artifacts that Sets name.
type kinds struct {
	manager    manager.Manager
	controller controller.Controller
	users      handler.MapFunc

	mutex   sync.Mutex
	watched map[schema.GroupVersionKind]bool
}

// watch watches the objects of a kind. It returns a NoMatchError if the server does not have it.
func (k *kinds) watch(_ context.Context, gvk schema.GroupVersionKind) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.watched[gvk] {
		return nil
	}
	if _, err := k.manager.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	err := k.controller.Watch(source.Kind(k.manager.GetCache(), client.Object(object),
		handler.EnqueueRequestsFromMapFunc(k.users)))
	if err == nil {
		k.watched[gvk] = true
	}
	return err
}

// Ready returns a check that the caches are filled.
func (r *Reconciler) Ready(mgr manager.Manager) healthz.Checker {
	return func(req *http.Request) error {
		informer, err := mgr.GetCache().GetInformer(req.Context(), &v1alpha1.Set{})
		if err == nil && !informer.HasSynced() {
			err = errors.New("the cache of Sets is not filled yet")
		}
		return err
	}
}

// Stripped returns an object of the cache without what nobody reads: managed fields, and the labels
// and annotations of what only counts by its version.
func Stripped(obj any) (any, error) {
	if m, ok := obj.(*metav1.PartialObjectMetadata); ok {
		m.Labels, m.Annotations, m.ManagedFields, m.OwnerReferences = nil, nil, nil, nil
	} else if o, ok := obj.(client.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}
