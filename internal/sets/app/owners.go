package app

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// IsExternal reports whether an input only describes what others create, or is ignored.
func IsExternal(input liveObject) bool {
	_, noop := object.AnnotationsOf(input).Lookup(resource.AnnNoop)
	return noop || resource.IsExternal(input)
}

// IsMember reports whether a live object has the label of an app.
func IsMember(of *App, live liveObject) bool {
	selector, err := labels.Parse(of.Selector())
	return err == nil && selector.Matches(labels.Set(live.GetLabels()))
}

// OthersOf returns the owners of a live object that are no apps: the label of apps has one value.
// Applied is what the app applies, or applied last.
func OthersOf(of *App, applied, live liveObject) []owner.Owner {
	set := owner.Owner{Kind: owner.App}
	if IsMember(of, live) {
		set.ID = object.LabelsOf(live).Get(resource.LabelApp)
	}
	return slices.DeleteFunc(owner.Others(live, applied, set), func(o owner.Owner) bool {
		return o.Kind == owner.App
	})
}
