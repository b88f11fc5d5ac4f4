package kapp

import (
	"slices"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/kapp/app"
)

// selection is where all objects of an app are looked for: of any kind, in all namespaces or, where those may not be listed, in
// those of the last change. With owners the objects say who manages which of their fields.
func (s *session) selection(target *app.App, f kindFlags, owners bool) cluster.Selection {
	selection := cluster.Selection{
		Selector: target.Selector(), Fallback: s.fallback(target), OnlyFallback: f.onlyFallback, Owners: owners,
		Told: func(text string) { s.ui.Info(text) },
	}
	if f.ignoreFailing {
		selection.Ignorable = func(string) bool { return true }
	}
	return selection
}

// fallback are the namespaces that are looked through where not all may be: that of the command, those of the app's last change,
// and more.
func (s *session) fallback(target *app.App, more ...string) []string {
	var all []string
	seen := map[string]bool{"": true, clusterPlace: true}
	for _, place := range slices.Concat([]string{s.namespace}, target.Meta.LastChange.Namespaces, more) {
		if !seen[place] {
			seen[place] = true
			all = append(all, place)
		}
	}
	return all
}
