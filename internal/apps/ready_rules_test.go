package apps

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/apps/config"
)

// Child objects are found by the labels of the object: one of an app that is given by labels lacks
// the app's own.
func TestChildren(t *testing.T) {
	for labels, want := range map[string]map[string]string{
		"{kapp.k14s.io/app: '1', kapp.k14s.io/association: v1.a, x: w}": {"kapp.k14s.io/app": "1",
			"kapp.k14s.io/association": "v1.a"},
		"{kapp.k14s.io/association: v1.a, x: w}": {"kapp.k14s.io/association": "v1.a"},
		"{kapp.k14s.io/app: '1'}":                nil,
	} {
		rules := (&Run{config: config.Default(), options: RunOptions{ShowChildren: true}}).readyRules()
		kinds, got := rules.Children(liveOf(t, "{apiVersion: apps/v1, kind: Deployment, "+
			"metadata: {name: web, namespace: demo, labels: "+labels+"}}"))
		if diff := cmp.Diff(want, got); diff != "" || (len(kinds) > 0) != (want != nil) {
			t.Errorf("%s: kinds %v, labels (-want +got):\n%s", labels, kinds, diff)
		}
	}
}
