// Package judge says of a live object what kapp would say of it while it waits.
//
// In goes a live object with those that controllers made for it, out comes a Judgement and, from that, the lines that
// kapp prints. Both are pure: no cluster, no clock. Text and verdict are kapp's, kind by kind (the table in kinds.go).
// Whether an object is being deleted, and whether a Service or an APIService is available, is package ready's judgement.
// About other kinds the two do not always agree:
//
//	Kind          kapp                                            ready
//	Deployment    done when no replica is unavailable and enough  waits until all pods are of the new revision, old ones
//	              are ready, of whatever revision                 are gone and the rollout is declared complete
//	              failed whenever Progressing is False            failed for ProgressDeadlineExceeded alone
//	              paused ones are judged like others              paused ones need not be updated
//	DaemonSet     done when none is unavailable; waits for        compares the number scheduled and ready, too; does
//	              updated pods with OnDelete                      not wait for updated pods with OnDelete
//	StatefulSet   waits for updated pods with OnDelete            does not; compares available pods and revisions
//	Job           waits for suspended and paused ones             those are current
//	Pod           never failed by crashing containers             failed while containers keep crashing
//	              failed in the phase Unknown                     unknown
//	Service       waits for a cluster address under every type    under LoadBalancer alone
//	CRD           waits while its names are refused               failed
//	App, Package… failed while a reconciliation has failed        judged by common conventions
//	all others    done at once (claims, replica sets, custom      judged by their own rules or by common conventions
//	              resources …), unless a Rule says otherwise
//
// kapp refuses objects whose fields have wrong types; here such fields count as absent.
package judge

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
)

// Judgement is what kapp says of one object.
type Judgement struct {
	Object     string     // the object's description, as "deployment/web (apps/v1) namespace: demo"
	Done       bool       // nothing is waited for any more
	Successful bool       // and all is well; never without Done
	Message    string     // why; empty when there is nothing to say
	Ref        object.Ref // the object
	Version    string     // of its kind, as in apiVersion
	// Children are those that the user is told of: while the object is not done, and of the kinds that belong to its kind,
	// in the order in which they are printed. They have no children themselves.
	Children []Judgement
}

// Rule is a rule of the user's or of a flag's. It says whether it has a judgement of the object; the description and the
// children are not its business.
type Rule func(obj *unstructured.Unstructured) (Judgement, bool)

// Of judges a live object. The children are all that might have been made for it; they matter to a Deployment that asks
// for a minimum of available replicas, and are reported beside others. Rules are asked in order, after deletion and
// before what is known of kinds; children are judged by them, too. Nothing given is changed.
func Of(obj *unstructured.Unstructured, children []*unstructured.Unstructured, rules ...Rule) Judgement {
	k := kindOf(obj)
	family := k.family(obj, children)
	j, own := k.judgement(obj, family, rules)
	if value := obj.GetAnnotations()[resource.AnnDisableChildrenWait]; value != "" && !j.Done {
		j = failed(fmt.Sprintf("Error: Expected annotation '%s' on resource '%s' to have value ''",
			resource.AnnDisableChildrenWait, resource.Describe(obj)))
	}
	j = j.of(obj)
	if j.Done || !own {
		return j
	}
	for _, child := range family {
		told, _ := kindOf(child).judgement(child, nil, rules)
		j.Children = append(j.Children, told.of(child))
	}
	slices.SortFunc(j.Children, func(a, b Judgement) int { return strings.Compare(b.Object, a.Object) })
	return j
}

// of says which object is judged.
func (j Judgement) of(obj *unstructured.Unstructured) Judgement {
	j.Object, j.Ref, j.Version = resource.Describe(obj), object.RefOf(obj), obj.GroupVersionKind().Version
	return j
}

// ChildKinds are the kinds of objects that are told of while an object is not done.
func ChildKinds(obj *unstructured.Unstructured) []schema.GroupKind {
	if _, refused := obj.GetAnnotations()[resource.AnnDisableChildrenWait]; refused {
		return nil
	}
	return kindOf(obj).children
}

// judgement judges one object alone, and says whether its kind did: only then its children belong to the answer.
func (k kind) judgement(obj *unstructured.Unstructured, family []*unstructured.Unstructured, rules []Rule) (j Judgement, own bool) {
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

// family picks the children that belong to an object of the kind. What is made for an object carries its labels, as it does itself.
func (k kind) family(obj *unstructured.Unstructured, children []*unstructured.Unstructured) []*unstructured.Unstructured {
	if ChildKinds(obj) == nil {
		return nil
	}
	var family []*unstructured.Unstructured
	for _, child := range children {
		if slices.Contains(k.children, child.GroupVersionKind().GroupKind()) && object.RefOf(child) != object.RefOf(obj) {
			family = append(family, child)
		}
	}
	return family
}

// OfDeletion gives the judgement of an object that is being deleted: done once it is not there any more, or is another one of
// the same name, which is said by a live object of nil.
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

// deleting tells why an object is still there.
func deleting(obj *unstructured.Unstructured) Judgement {
	if finalizers := obj.GetFinalizers(); len(finalizers) > 0 {
		return ongoing("Waiting on finalizers: " + strings.Join(finalizers, ", "))
	}
	return ongoing("Deleting")
}

func done(message string) Judgement    { return Judgement{Done: true, Successful: true, Message: message} }
func ongoing(message string) Judgement { return Judgement{Message: message} }
func failed(message string) Judgement  { return Judgement{Done: true, Message: message} }
