package kapp

import (
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/kapp/app"
)

// selection is where all objects of an app are looked for: of any kind, in all namespaces or, where those may not be listed, in
// those of the last change. With owners the objects say who manages which of their fields.
func (s *session) selection(target *app.App, f kindFlags, owners bool) cluster.Selection {
	selection := cluster.Selection{
		Selector: target.Selector(), OnlyFallback: f.onlyFallback, Owners: owners,
		Told: func(text string) { s.ui.Info(text) },
	}
	for _, place := range target.Meta.LastChange.Namespaces {
		if place != clusterPlace {
			selection.Fallback = append(selection.Fallback, place)
		}
	}
	if f.ignoreFailing {
		selection.Ignorable = func(string) bool { return true }
	}
	return selection
}
