package app

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/judge"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// readyRules judge the objects of an app as kapp does.
type readyRules struct {
	config       *config.Config
	rules        []judge.Rule
	showChildren bool // that are not needed for the judgement
}

// KappRules returns rules that judge the objects of an app as kapp does. With showChildren they ask
// for child objects that are only shown.
func KappRules(c *config.Config, ignoreFailingAPIServices, showChildren bool) engine.Rules {
	return readyRules{c, c.JudgeRules(ignoreFailingAPIServices), showChildren}
}

// packageRules judge the objects of an app as those of a package. Rules of the configuration, and
// the annotation for a part of a deployment, come first.
type packageRules struct {
	*ready.RuleSet
	kapp readyRules
}

// Judge returns the verdict on an object.
func (r packageRules) Judge(
	obj *unstructured.Unstructured, children []*unstructured.Unstructured,
) ready.Verdict {
	if _, _, ruled := r.kapp.config.Judge(obj); ruled || countsReplicas(obj) {
		v := r.judgeRuled(obj, children)
		v.Ruled = true
		return v
	}
	return r.RuleSet.Judge(obj, children)
}

// judgeRuled returns the verdict on an object that rules of kapp judge: that of the rules of users,
// which come first, or theirs.
func (r packageRules) judgeRuled(
	obj *unstructured.Unstructured, children []*unstructured.Unstructured,
) ready.Verdict {
	for _, rule := range r.For(obj.GroupVersionKind().GroupKind()) {
		if s := rule.Judge(obj); s.State != "" {
			return ready.Verdict{Status: s, Final: true}
		}
	}
	return r.kapp.Judge(obj, children)
}

// Children returns the child objects that the annotation for a part of a deployment needs.
func (r packageRules) Children(
	obj *unstructured.Unstructured,
) ([]schema.GroupKind, map[string]string) {
	return r.kapp.Children(obj)
}

// countsReplicas reports whether an object is ready once some of its replicas are available.
func countsReplicas(obj *unstructured.Unstructured) bool {
	_, counts := object.AnnotationsOf(obj).Lookup(resource.AnnMinimumAvailable)
	return counts
}

// Judge returns kapp's judgement of an object. One that kapp calls failed is final.
func (r readyRules) Judge(
	obj *unstructured.Unstructured, children []*unstructured.Unstructured,
) ready.Verdict {
	j := judge.Of(obj, children, r.rules...)
	v := ready.Verdict{Status: statusOf(j), Final: true}
	if v.State == ready.Failed {
		if v.Since = j.Since; v.Since.IsZero() {
			v.Since = lastTransition(obj)
		}
	}
	if !j.Done {
		_, v.Releases, _ = r.config.Judge(obj)
		v.Fails = r.config.Deadline(obj)
	}
	for _, child := range j.Children {
		v.Children = append(v.Children,
			ready.Child{Ref: child.Ref, Version: child.Version, Status: statusOf(child)})
	}
	return v
}

// Leaving returns kapp's words for an object that is waited for until it is gone.
func (r readyRules) Leaving(obj *unstructured.Unstructured) ready.Status {
	return statusOf(judge.OfDeletion("", obj))
}

// Children returns the child objects that kapp shows, which carry the labels of the app. Runs that
// do not show them need them only where the judgement depends on them. The objects of apps that are
// given by labels have no label that their child objects share.
func (r readyRules) Children(
	obj *unstructured.Unstructured,
) ([]schema.GroupKind, map[string]string) {
	if !r.showChildren && !countsReplicas(obj) {
		return nil, nil
	}
	kinds := judge.ChildKinds(obj)
	if len(kinds) == 0 {
		return nil, nil
	}
	labels := map[string]string{}
	for _, key := range []string{resource.LabelApp, resource.LabelAssociation} {
		if value, ok := object.LabelsOf(obj).Lookup(key); ok {
			labels[key] = value
		}
	}
	if labels[resource.LabelAssociation] == "" {
		return nil, nil
	}
	return kinds, labels
}

// statusOf returns a judgement as a status.
func statusOf(j judge.Judgement) ready.Status {
	state := ready.InProgress
	switch {
	case j.Done && j.Successful:
		state = ready.Current
	case j.Done:
		state = ready.Failed
	}
	return ready.Status{State: state, Message: j.Message}
}

// lastTransition returns the time at which a condition of an object was written last; zero if none
// says.
func lastTransition(obj *unstructured.Unstructured) time.Time {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	var last time.Time
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		if at := judge.WrittenAt(fields); at.After(last) {
			last = at
		}
	}
	return last
}
