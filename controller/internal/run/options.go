package run

import (
	"cmp"

	"github.com/muster-deploy/muster"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
)

// RecordName returns the name of the record of a Set, which is in the namespace of the Set.
func RecordName(set *v1alpha1.Set) string {
	if set.Spec.App != nil {
		return cmp.Or(set.Spec.App.Name, set.Name)
	}
	return set.Name
}

// RecordOf returns the record of a Set.
func RecordOf(set *v1alpha1.Set) muster.Object {
	o := muster.Object{Namespace: set.Namespace, Name: RecordName(set)}
	if kindOf(set) == muster.App {
		o.Kind = "ConfigMap"
	} else {
		o.Group, o.Kind = "kpt.dev", "ResourceGroup"
	}
	return o
}

// kindOf returns the kind of the set.
func kindOf(set *v1alpha1.Set) muster.Kind {
	if set.Spec.Format == v1alpha1.FormatApp {
		return muster.App
	}
	return muster.Package
}

// sourceOf returns the set without its files.
func sourceOf(set *v1alpha1.Set) muster.Source {
	return muster.Source{
		Kind: kindOf(set), Namespace: set.Namespace, Name: RecordName(set),
		DefaultNamespace: set.Spec.DefaultNamespace, NoScripts: true,
	}
}

// planOptions returns the options of plans of a Set.
func planOptions(set *v1alpha1.Set) muster.PlanOptions {
	return muster.PlanOptions{
		Ignore: ignored(set), ServerSide: set.Spec.ServerSide, Conflicts: set.Spec.Conflicts,
		Recreate: set.Spec.Recreate, NoPrune: set.Spec.Prune.Disabled, MaxPrune: set.Spec.Prune.Max,
		AllowDelete: set.Spec.Prune.AllowDelete, AllowEmpty: set.Spec.Prune.AllowEmpty,
	}
}

// ignored returns the rules for the fields that a Set leaves to others.
func ignored(set *v1alpha1.Set) (rules []muster.IgnoreRule) {
	for _, rule := range set.Spec.Ignore {
		paths := make([]string, len(rule.Paths))
		for i, path := range rule.Paths {
			paths[i] = string(path)
		}
		rules = append(rules, muster.IgnoreRule{
			Paths: paths, Managers: rule.Managers, Target: muster.IgnoreTarget(rule.Target),
		})
	}
	return rules
}
