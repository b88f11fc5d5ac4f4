package sets

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages"
)

// twoApps returns a world with the apps other, with the object theirs, and shop, with a and b.
func twoApps(t *testing.T) *setWorld {
	t.Helper()
	w := newSetWorld(t, KindApp)
	w.app = "other"
	w.write("a.yaml", mapText("theirs", "x: '1'", ""))
	w.mustApply()
	w.app = "shop"
	w.write("a.yaml", mapText("a", "x: '1'", ""))
	w.write("b.yaml", mapText("b", "x: '1'", ""))
	w.mustApply()
	return w
}

// forge changes the record of the app shop, as somebody who may write it.
func (w *setWorld) forge(edit func(spec, data map[string]any)) {
	w.t.Helper()
	w.change("shop", func(obj *unstructured.Unstructured) {
		data, spec := obj.Object["data"].(map[string]any), map[string]any{}
		err := json.Unmarshal([]byte(data["spec"].(string)), &spec)
		edit(spec, data)
		text, failed := json.Marshal(spec)
		if err = errors.Join(err, failed); err != nil {
			w.t.Fatal(err)
		}
		data["spec"] = string(text)
	})
}

// labelOf returns the value of the label of an object.
func (w *setWorld) labelOf(name string) string {
	return w.server.Object(mapRef(name)).GetLabels()[appKey]
}

// refuses applies and destroys the app shop, which must fail because of its label.
func (w *setWorld) refuses(about string, words ...string) {
	w.t.Helper()
	_, _, applied := w.apply(w.t.Context(), nil)
	_, _, destroyed := w.destroy()
	for _, err := range []error{applied, destroyed} {
		if label := (*app.LabelError)(nil); !errors.As(err, &label) {
			w.t.Errorf("%s: error %v", about, err)
			continue
		}
		for _, word := range words {
			if !strings.Contains(err.Error(), word) {
				w.t.Errorf("%s: %q lacks %q", about, err, word)
			}
		}
	}
	w.expect(about, w.data("theirs")+w.data("a")+w.data("b"), "x=1x=1x=1")
}

// A record that names the label of another app deletes none of its objects.
func TestLabelOfAnotherApp(t *testing.T) {
	w := twoApps(t)
	own := w.labelOf("a")
	theirs := func(spec, _ map[string]any) { spec["labelValue"] = w.labelOf("theirs") }
	w.forge(theirs)
	w.refuses("lists none", `of app "shop" names the label kapp.k14s.io/app=`+w.labelOf("theirs"),
		"lists none of the 1 objects", "demo/configmap/theirs")
	w.forge(func(_, data map[string]any) { delete(data, "members") })
	w.refuses("named twice", "so does the record demo/configmap/other", "correct labelValue")
	w.app = "other"
	w.write("a.yaml", mapText("theirs", "x: '1'", ""))
	w.write("b.yaml", "")
	w.expect("the other one, which deletes nothing", ops(w.mustApply()), "theirs: unchanged")
	w.app = "shop"
	w.forge(func(spec, _ map[string]any) { spec["labelValue"] = own })
	w.write("a.yaml", mapText("a", "x: '1'", ""))
	w.expect("restored", ops(w.mustApply()), "a: unchanged, b: delete")
}

// A record that names the label of no app, which objects of others may have, deletes nothing.
func TestLabelOfNoApp(t *testing.T) {
	w := twoApps(t)
	for _, name := range []string{"a", "b", "theirs"} {
		w.change(name, func(obj *unstructured.Unstructured) {
			labels := obj.GetLabels()
			labels["tier"] = "web"
			obj.SetLabels(labels)
		})
	}
	w.forge(func(spec, _ map[string]any) { spec["labelKey"], spec["labelValue"] = "tier", "web" })
	w.refuses("another key", "names the label tier=web", "records of apps name the label "+appKey)
}

// A record that kapp has written lists no objects, and an app with it is applied and destroyed.
func TestLabelOfKapp(t *testing.T) {
	w := twoApps(t)
	w.forge(func(_, data map[string]any) { delete(data, "members") })
	w.write("b.yaml", "")
	w.expect("apply", ops(w.mustApply()), "a: unchanged, b: delete")
	w.forge(func(_, data map[string]any) { delete(data, "members") })
	p, _, err := w.destroy()
	if err != nil {
		t.Fatal(err)
	}
	w.expect("destroy", ops(p), "a: delete")
	w.expect("the other one", w.data("theirs"), "x=1")
}

// The objects of another app are not converted to a package.
func TestLabelOfConverted(t *testing.T) {
	w := twoApps(t)
	w.forge(func(spec, data map[string]any) {
		spec["labelValue"] = w.labelOf("theirs")
		delete(data, "members")
	})
	r := w.request()
	r.Files = nil
	h, err := ToPackage(t.Context(), w.server, r, t.TempDir()+"/pkg",
		packages.InitOptions{File: "resourcegroup.yaml", Now: time.Now})
	if err == nil {
		_, err = h.PrepareApply(t.Context(), operation.ApplyOptions{Options: options()})
	}
	if label := (*app.LabelError)(nil); !errors.As(err, &label) {
		t.Errorf("error %v", err)
	}
}
