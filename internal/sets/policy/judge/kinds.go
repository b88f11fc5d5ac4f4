package judge

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/ready"
)

// live is an object that is judged, its children, and its status by package ready.
type live struct {
	*unstructured.Unstructured
	children []*unstructured.Unstructured // printed while the object is not done
	ready    ready.Status
}

// kind is what kapp knows of one kind of objects.
type kind struct {
	group, version, name string // an empty version matches all
	judge                func(live) Judgement
	children             []schema.GroupKind // printed while the object is not done
	deletes              bool               // judge also handles deletion, and comes before rules
}

var (
	replicaSets = schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
	claims      = schema.GroupKind{Kind: "PersistentVolumeClaim"}
	jobs        = schema.GroupKind{Group: "batch", Kind: "Job"}
)

// childKinds returns the child kinds of a kind, with those that kapp adds in front.
func childKinds(group, name string, added ...schema.GroupKind) []schema.GroupKind {
	return slices.Concat(added, ready.ChildKinds(schema.GroupKind{Group: group, Kind: name}))
}

// kinds are all kinds that are ever waited for. Objects of other kinds are done at once.
var kinds = []kind{
	{group: "kappctrl.k14s.io", version: "v1alpha1", name: "App", judge: reconciled, deletes: true},
	{
		group:   "packaging.carvel.dev",
		version: "v1alpha1",
		name:    "PackageInstall",
		judge:   reconciled,
		deletes: true,
	},
	{
		group:   "packaging.carvel.dev",
		version: "v1alpha1",
		name:    "PackageRepository",
		judge:   reconciled,
		deletes: true,
	},
	{
		group: "apiextensions.k8s.io",
		name:  "CustomResourceDefinition",
		judge: definition,
	},
	{group: "apiregistration.k8s.io", version: "v1", name: "APIService", judge: available},
	{group: "apiregistration.k8s.io", version: "v1beta1", name: "APIService", judge: available},
	{version: "v1", name: "Pod", judge: pod},
	{version: "v1", name: "Service", judge: service},
	{group: "apps", version: "v1", name: "Deployment", judge: deployment,
		children: childKinds("apps", "Deployment")},
	{group: "apps", version: "v1", name: "DaemonSet", judge: daemonSet,
		children: childKinds("apps", "DaemonSet", replicaSets)},
	{group: "batch", version: "v1", name: "Job", judge: job,
		children: childKinds("batch", "Job", jobs)},
	{group: "apps", version: "v1", name: "StatefulSet", judge: statefulSet,
		children: childKinds("apps", "StatefulSet", claims)},
}

// kindOf returns the row of an object in the table, or an empty one.
func kindOf(obj *unstructured.Unstructured) kind {
	gvk := obj.GroupVersionKind()
	for _, k := range kinds {
		if k.group == gvk.Group && k.name == gvk.Kind && (k.version == "" || k.version == gvk.Version) {
			return k
		}
	}
	return kind{}
}

// reconciled judges the kinds of kapp-controller, which reconciles and deletes them.
func reconciled(o live) Judgement {
	if j, waits := o.unobserved(); waits {
		return j
	}
	if o.condition("Reconciling").holds() {
		return ongoing("Reconciling")
	}
	for _, failure := range [...]struct{ condition, words string }{
		{"ReconcileFailed", "Reconcile failed: "}, {"DeleteFailed", "Delete failed: "},
	} {
		if c := o.condition(failure.condition); c.holds() {
			if useful := o.text("status", "usefulErrorMessage"); useful != "" {
				c.message = useful
			}
			return c.fails(failure.words + c.words())
		}
	}
	if o.ready.State == ready.Terminating {
		return deleting(o.Unstructured)
	}
	return done("")
}

// holding returns the judge of kinds that wait for conditions to be true, in order.
func holding(conditions ...string) func(live) Judgement {
	return func(o live) Judgement {
		for _, name := range conditions {
			switch c := o.condition(name); {
			case c.status == "":
				return ongoing("Condition " + name + " is not set")
			case !c.holds():
				return ongoing("Condition " + name + " is not True (" + c.status + ")")
			}
		}
		return done("")
	}
}

// definition judges a CustomResourceDefinition, whose conditions may be of before an update.
func definition(o live) Judgement {
	j := holding("Established", "NamesAccepted")(o)
	switch {
	case !j.Done:
	case o.ready.Reason == ready.NotObserved:
		j, _ = o.unobserved()
	case o.ready.State == ready.InProgress:
		j = ongoing(o.ready.Message)
	}
	return j
}

// available judges an APIService, whose condition may be of before it got a service.
func available(o live) Judgement {
	j := holding("Available")(o)
	if j.Done && o.ready.State != ready.Current {
		j = ongoing("Condition Available is not set")
	}
	return j
}

// IgnoreFailingAPIServices judges API services that are not available as done.
func IgnoreFailingAPIServices(obj *unstructured.Unstructured) (Judgement, bool) {
	if obj.GroupVersionKind().Group != "apiregistration.k8s.io" || obj.GetKind() != "APIService" {
		return Judgement{}, false
	}
	j := available(live{Unstructured: obj, ready: ready.Of(obj)})
	return done("Ignoring (" + j.Message + ")"), !j.Done
}

func service(o live) Judgement {
	switch {
	case o.text("spec", "type") == "ExternalName":
		return done("External service")
	case o.text("spec", "clusterIP") == "":
		return ongoing("ClusterIP is empty")
	case o.ready.State != ready.Current:
		return ongoing("Load balancer ingress is empty")
	}
	return done("")
}
