package deploy

import (
	"strings"
	"testing"
)

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
