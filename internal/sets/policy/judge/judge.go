// Package judge decides about a live object what kapp would decide while it waits.
//
// Its input is a live object with its child objects. Its output is a Judgement, which holds the
// lines that kapp prints. Both are pure: no cluster, no clock. Texts and results are kapp's, kind
// by kind (the table in kinds.go), but for moments in the middle of a rollout that look done: kapp,
// which reads every three seconds, seldom meets them, and a watch sees each (testdata/rollouts).
// Package ready decides whether an object is being deleted, and whether a Service or an APIService
// is available. About other kinds the two packages do not always agree:
//
//	Deployment    ready: waits for the end of the rollout by its condition, too
//	              kapp: failed whenever Progressing is False; ready: for missed deadlines only
//	              kapp: paused ones need all pods; ready: in the middle of a rollout some
//	DaemonSet     kapp: done when none is unavailable, waits for updated pods with OnDelete;
//	              ready: compares the numbers scheduled and ready too, does not wait with OnDelete
//	StatefulSet   kapp: waits for updated pods with OnDelete;
//	              ready: does not, but compares revisions
//	Job           kapp: waits for suspended ones; ready: these are current
//	Pod           kapp: crashing containers are no failure, the phase Unknown is;
//	              ready: failed while containers keep crashing, the phase Unknown is unknown
//	Service       kapp: every type waits for a cluster address; ready: LoadBalancer only
//	CRD           kapp: waits while its names are rejected; ready: failed
//	App, Package… kapp: failed while a reconciliation has failed; ready: common conventions
//	all others    kapp: done at once unless a Rule decides otherwise;
//	              ready: their own rules or common conventions
//
// kapp rejects objects whose fields have wrong types; here such fields count as absent.
package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Judgement is kapp's result for one object.
type Judgement struct {
	Object     string     // its description, as "deployment/web (apps/v1) namespace: demo"
	Done       bool       // nothing is waited for any more
	Successful bool       // never without Done
	Message    string     // the reason; may be empty
	Ref        object.Ref // the object
	Version    string     // of its kind, as in apiVersion
	Since      time.Time  // the last write of the condition by which it failed; zero if unknown
	// Children are printed while the object is not done: the child objects of the kinds that belong
	// to its kind, in the order in which they are printed. They have no children themselves.
	Children []Judgement
}

// Rule is a rule of the user or of a flag. It reports whether it has a judgement of the object,
// without description and children.
type Rule func(obj *unstructured.Unstructured) (Judgement, bool)

// Of judges a live object. The children are all objects that controllers may have created for it.
// They matter to a Deployment with a minimum of available replicas, and are reported for others.
// Rules come after deletion and before the kinds; they also judge children. The arguments are not
// changed.
func Of(
	obj *unstructured.Unstructured,
	children []*unstructured.Unstructured,
	rules ...Rule,
) Judgement {
	k := kindOf(obj)
	owned := k.family(obj, children)
	j, own := k.judgement(obj, owned, rules)
	if value := obj.GetAnnotations()[resource.AnnDisableChildrenWait]; value != "" && !j.Done {
		j = failed(fmt.Sprintf("Error: Expected annotation '%s' on resource '%s' to have value ''",
			resource.AnnDisableChildrenWait, resource.Describe(obj)))
	}
	j = j.of(obj)
	if j.Done || !own {
		return j
	}
	for _, child := range owned {
		childJudgement, _ := kindOf(child).judgement(child, nil, rules)
		j.Children = append(j.Children, childJudgement.of(child))
	}
	slices.SortFunc(
		j.Children,
		func(a, b Judgement) int { return strings.Compare(b.Object, a.Object) },
	)
	return j
}

// of returns the judgement with the identity of its object.
func (j Judgement) of(obj *unstructured.Unstructured) Judgement {
	j.Object, j.Ref, j.Version = resource.Describe(
		obj,
	), object.RefOf(
		obj,
	), obj.GroupVersionKind().Version
	return j
}

// ChildKinds returns the kinds of the children that are printed while an object is not done.
func ChildKinds(obj *unstructured.Unstructured) []schema.GroupKind {
	if _, refused := obj.GetAnnotations()[resource.AnnDisableChildrenWait]; refused {
		return nil
	}
	return kindOf(obj).children
}

// judgement judges one object alone. It reports whether its kind decided: only then its children
// belong to the result.
func (k kind) judgement(
	obj *unstructured.Unstructured,
	family []*unstructured.Unstructured,
	rules []Rule,
) (j Judgement, own bool) {
	status := ready.Of(obj)
	if k.deletes {
		return k.judge(live{obj, family, status}), true
	}
	if status.State == ready.Terminating {
		return deleting(obj), false
	}
	for _, rule := range rules {
		if j, ok := rule(obj); ok {
			return j, false
		}
	}
	if k.judge == nil {
		return done(""), false
	}
	return k.judge(live{obj, family, status}), true
}

// family returns the children that belong to an object of the kind. Child objects carry the labels
// of their object, and so does the object itself.
func (k kind) family(
	obj *unstructured.Unstructured,
	children []*unstructured.Unstructured,
) []*unstructured.Unstructured {
	if ChildKinds(obj) == nil {
		return nil
	}
	var family []*unstructured.Unstructured
	for _, child := range children {
		if slices.Contains(k.children, child.GroupVersionKind().GroupKind()) &&
			object.RefOf(child) != object.RefOf(obj) {
			family = append(family, child)
		}
	}
	return family
}

// OfDeletion returns the judgement of an object that is being deleted. It is done once the object
// is gone or was recreated, for which obj is nil.
func OfDeletion(description string, obj *unstructured.Unstructured) Judgement {
	j := done("")
	switch {
	case obj != nil && obj.GetDeletionTimestamp() == nil:
		j = ongoing("")
	case obj != nil:
		j = deleting(obj)
	}
	j.Object = description
	return j
}

// deleting returns why an object still exists.
func deleting(obj *unstructured.Unstructured) Judgement {
	if finalizers := obj.GetFinalizers(); len(finalizers) > 0 {
		return ongoing("Waiting on finalizers: " + strings.Join(finalizers, ", "))
	}
	return ongoing("Deleting")
}

func done(
	message string,
) Judgement {
	return Judgement{Done: true, Successful: true, Message: message}
}
func ongoing(message string) Judgement { return Judgement{Message: message} }
func failed(message string) Judgement  { return Judgement{Done: true, Message: message} }
