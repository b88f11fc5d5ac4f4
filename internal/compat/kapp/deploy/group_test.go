package deploy

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/app"
)

// groupRequest returns a request that deploys folders, each with one ConfigMap, as the group
// "shop".
func (w *world) groupRequest(folders ...string) DeployGroupRequest {
	request := DeployGroupRequest{
		Group: app.GroupName{Name: "shop", Namespace: "demo"}, Directory: "apps",
		Connect: func(context.Context) error { return nil },
		Deploy:  w.request(), Delete: w.deleteRequest(),
	}
	dir := w.t.TempDir()
	for _, folder := range folders {
		path := filepath.Join(dir, folder)
		if err := os.Mkdir(path, 0o700); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "a.yml"), []byte(configMap(folder, "1")),
			0o600); err != nil {
			w.t.Fatal(err)
		}
		request.Members = append(request.Members, GroupMember{Name: "shop-" + folder, Folder: path})
	}
	return request
}

// A group has an app for each folder, and loses the apps whose folders are gone.
func TestGroup(t *testing.T) {
	w := newWorld(t)
	result, err := w.DeployGroup(t.Context(), w.groupRequest("db", "web"))
	if err != nil || result != (GroupResult{Deployed: true}) {
		t.Fatalf("%+v, error %v", result, err)
	}
	check(t, "objects", w.objects(), "configmap/db configmap/shop-db configmap/shop-web "+
		"configmap/web")

	result, err = w.DeployGroup(t.Context(), w.groupRequest("db"))
	if err != nil || result != (GroupResult{Deleted: true}) {
		t.Fatalf("%+v, error %v", result, err)
	}
	check(t, "objects", w.objects(), "configmap/db configmap/shop-db")

	_, err = w.DeployGroup(t.Context(), w.groupRequest())
	checkError(
		t,
		err,
		"Directory 'apps' has no folders, so that all apps of group 'shop' would be deleted: "+
			"shop-db. Refusing",
	)
	empty := w.groupRequest()
	empty.AllowEmpty = true
	if result, err = w.DeployGroup(t.Context(), empty); err != nil || !result.Deleted {
		t.Fatalf("%+v, error %v", result, err)
	}
	check(t, "objects", w.objects(), "")
	if result, err = w.DeployGroup(t.Context(), w.groupRequest()); err != nil ||
		result != (GroupResult{}) {
		t.Errorf("empty group: %+v, error %v", result, err)
	}
}

// A group can be deleted, and ends with the first error.
func TestDeleteGroup(t *testing.T) {
	w := newWorld(t)
	if _, err := w.DeployGroup(t.Context(), w.groupRequest("db", "web")); err != nil {
		t.Fatal(err)
	}
	w.output()
	w.cluster.Fails = map[object.Ref]error{configMapRef("db"): errTest}
	_, err := w.DeleteGroup(t.Context(), app.GroupName{Name: "shop", Namespace: "demo"},
		w.deleteRequest())
	checkError(t, err, "no")
	check(t, "output", w.output(), "--- deleting app 'shop-db' (namespace: demo)")
	w.cluster.Fails = nil
	deleted, err := w.DeleteGroup(
		t.Context(),
		app.GroupName{Name: "shop", Namespace: "demo"},
		w.deleteRequest(),
	)
	if err != nil || !deleted {
		t.Errorf("deleted %t, error %v", deleted, err)
	}
	check(t, "objects", w.objects(), "")

	request := w.groupRequest("db")
	request.Connect = func(context.Context) error { return errTest }
	_, err = w.DeployGroup(t.Context(), request)
	checkError(t, err, "no")
	request.Members = nil
	_, err = w.DeployGroup(t.Context(), request)
	checkError(t, err, "no")
}
