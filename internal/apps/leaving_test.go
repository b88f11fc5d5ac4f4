package apps

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/event"
)

// The record names the kind and the namespace of an object whose deletion is not waited for, as
// long as it exists.
func TestDeployNamesLeaving(t *testing.T) {
	for finalizers, kept := range map[string]bool{"[example.com/hold]": true, "[]": false} {
		w := newWorld(t)
		w.deploy(configMap("a", "1"), "{apiVersion: v1, kind: Secret, metadata: {name: s, "+
			"namespace: other, finalizers: "+finalizers+"}}")
		request := w.request(configMap("a", "1"))
		request.Run.PlanPolicy = LikePackages()
		d, err := w.PrepareDeploy(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		for i := range d.Plan().Steps {
			d.Plan().Steps[i].Wait = false
		}
		if _, err := d.Run(t.Context(), realRun, func(event.Event) {}); err != nil {
			t.Fatal(err)
		}
		meta := w.find().Meta
		if slices.Contains(*meta.UsedGKs, secretKind) != kept {
			t.Errorf("finalizers %s: kinds %v", finalizers, *meta.UsedGKs)
		}
		namespaces := strings.Join(meta.LastDeployment.Namespaces, " ")
		if strings.Contains(namespaces, "other") != kept {
			t.Errorf("finalizers %s: namespaces %s", finalizers, namespaces)
		}
	}
}

// A kind that a connection does not know, because it was opened before the kind was defined, is
// looked for with what the server has now.
func TestKindsOfAnOldDiscovery(t *testing.T) {
	for _, deletes := range []bool{false, true} {
		w := withWidget(t)
		kind := w.cluster.Kinds[widgetKind]
		delete(w.cluster.Kinds, widgetKind)
		w.cluster.Discovers = func() { w.cluster.Kinds[widgetKind] = kind }
		var err error
		if deletes {
			_, err = w.Delete(t.Context(), w.deleteRequest())
		} else {
			_, err = w.Deploy(t.Context(), w.request(configMap("a", "1")))
		}
		if err != nil || strings.Contains(w.objects(), "widget/w") {
			t.Errorf("deletes: %t: error %v, objects %s", deletes, err, w.objects())
		}
	}
}
