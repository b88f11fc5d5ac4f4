package deploy

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var widgetKind = schema.GroupKind{Group: "example.com", Kind: "Widget"}

// withWidget returns an app with a ConfigMap and a Widget of example.com/v1.
func withWidget(t *testing.T) *world {
	w := newWorld(t)
	w.cluster.Serve(widgetKind, true)
	w.deploy(configMap("a", "1"), "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}")
	return w
}

// otherVersion lets a server have the kind in another version alone.
func otherVersion(w *world) {
	kind := w.cluster.Kinds[widgetKind]
	kind.Resource.Version, kind.Served = "v2", []string{"v2"}
	w.cluster.Kinds[widgetKind] = kind
}

var errWebhook = errors.New("conversion webhook for example.com/v1 failed")

// unseen are the ways in which a kind of an app cannot be listed without an error of the list.
var unseen = map[string]func(*world){
	"broken conversion": func(w *world) {
		otherVersion(w)
		w.cluster.ListFails = map[schema.GroupKind]error{widgetKind: errWebhook}
	},
	"definition that serves no version": func(w *world) {
		delete(w.cluster.Kinds, widgetKind)
		w.cluster.Hidden = map[schema.GroupKind]error{widgetKind: errWebhook}
	},
	"group that cannot be described": func(w *world) {
		delete(w.cluster.Kinds, widgetKind)
		broken := schema.GroupVersion{Group: "example.com", Version: "v2"}
		w.cluster.Broken = map[schema.GroupVersion]error{broken: errWebhook}
	},
}

// A deletion that does not see a kind of the record deletes nothing, whatever the reason, and keeps
// the record if it finds that out at the end.
func TestDeleteUnseen(t *testing.T) {
	for name, hide := range unseen {
		for _, late := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				w := withWidget(t)
				if late {
					w.execute = func() error { hide(w); return nil }
				} else {
					hide(w)
				}
				_, err := w.Delete(t.Context(), w.deleteRequest())
				checkError(t, err, "Refusing to delete app 'web' (namespace: demo): ")
				if err != nil && (!strings.Contains(err.Error(), "idget") ||
					!strings.Contains(err.Error(), errWebhook.Error())) {
					t.Errorf("the error does not name the kind and the cause: %v", err)
				}
				want := "configmap/a configmap/web widget/w"
				if late {
					want = "configmap/web"
				}
				check(t, "objects", w.objects(), want)
			})
		}
	}
}

// A kind that a deployment does not see stays in the record.
func TestDeployUnseen(t *testing.T) {
	for name, hide := range unseen {
		for _, all := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				w := withWidget(t)
				hide(w)
				request := w.request(configMap("a", "2"))
				request.AllKinds = all
				if _, err := w.Deploy(t.Context(), request); err != nil {
					t.Fatal(err)
				}
				if text := w.output(); !strings.Contains(text, errWebhook.Error()) {
					t.Errorf("output %q", text)
				}
				if used := *w.find().Meta.UsedGKs; !slices.Contains(used, widgetKind) {
					t.Errorf("kinds %v", used)
				}
			})
		}
	}
}

// A record that is lost is stored again if a kind of the app cannot be seen.
func TestDeployLosesRecordUnseen(t *testing.T) {
	w := withWidget(t)
	w.execute = func() error {
		unseen["broken conversion"](w)
		w.cluster.Remove(configMapRef("web"))
		w.cluster.Remove(configMapRef("a"))
		return nil
	}
	_, err := w.Deploy(t.Context(), w.request(configMap("a", "2"),
		"{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}"))
	checkError(t, err, "It is recorded again")
	check(t, "objects", w.objects(), "configmap/web widget/w")
}

// A kind that the user may not list in one of the namespaces of the app keeps all objects and the
// record, although the user sees its objects elsewhere.
func TestDeleteHidden(t *testing.T) {
	w := newWorld(t)
	w.cluster.Serve(widgetKind, true)
	w.deploy(configMap("a", "1"),
		"{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: other}}")
	w.cluster.Unlistable = map[schema.GroupKind][]string{widgetKind: {"other"}}
	_, err := w.Delete(t.Context(), w.deleteRequest())
	checkError(t, err, "Refusing to delete app 'web' (namespace: demo): ")
	if err != nil && !strings.Contains(err.Error(), "in namespaces: other") {
		t.Errorf("the error does not name the namespace: %v", err)
	}
	check(t, "objects", w.objects(), "configmap/a configmap/web widget/w")
}
