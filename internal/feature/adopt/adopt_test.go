package adopt

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

// TestDecodeRelease: a release is read as Helm stores it, and what is none is an error.
func TestDecodeRelease(t *testing.T) {
	packed := func(text string) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return []byte(base64.StdEncoding.EncodeToString(b.Bytes()))
	}
	r, err := decodeRelease(packed(`{"name":"shop","version":3,"manifest":"kind: A",
		"hooks":[{"path":"t/a.yaml","events":["pre-install"]}],"chart":{"files":[{"name":"crds/a"}]}}`))
	if err != nil || r.Name != "shop" || r.Version != 3 || r.Hooks[0].Events[0] != "pre-install" ||
		r.Chart.Files[0].Name != "crds/a" {
		t.Errorf("got %+v, %v", r, err)
	}
	for text, want := range map[string]string{
		"%": "it is not in base64", "H4sIAAAA": "it cannot be unpacked",
		string(packed("nothing")): "it is not valid JSON",
	} {
		if _, err := decodeRelease([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestFluxTarget: the entries of inventories of Flux name objects.
func TestFluxTarget(t *testing.T) {
	for id, want := range map[string]string{
		"shop_web_apps_Deployment": "shop/deployment.apps/web",
		"shop_prices__ConfigMap":   "shop/configmap/prices",
		"_a__b_g_ClusterRole": "clusterrole.g/" +
			"a:b",
	} {
		target, err := fluxTarget(id, "v1")
		if err != nil || target.Ref.String() != want {
			t.Errorf("%s: %s, %v", id, target.Ref, err)
		}
	}
	if _, err := fluxTarget("web", "v1"); err == nil {
		t.Error("an invalid entry is no error")
	}
}

// TestExtractApplied: the manifest is what one manager applied, with the keys of list items.
func TestExtractApplied(t *testing.T) {
	live := parse(t, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  labels: {app: web, other: x}
  managedFields:
  - manager: kustomize-controller
    operation: Apply
    apiVersion: apps/v1
    fieldsV1:
      f:metadata: {f:labels: {f:app: {}}}
      f:spec:
        f:template: {f:spec: {f:containers: {'k:{"name":"web"}': {.: {}, f:name: {}, f:image: {}, f:args: {}}}}}
spec:
  replicas: 3
  template:
    spec:
      containers:
      - {name: web, image: web:1, args: [a, b], imagePullPolicy: Always}
      - {name: sidecar, image: sidecar:1}
status: {replicas: 3}
`)
	want := parse(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec: {template: {spec: {containers: [{name: web, image: web:1, args: [a, b]}]}}}
`)
	got := extractApplied(live, []string{"kustomize-controller"})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if extractApplied(live, []string{"helm"}) != nil {
		t.Error("a manager that applied nothing has a manifest")
	}
}

// TestManifests: marks of the old tool go, what it would keep is kept, and a label that the
// manifest has itself stays.
func TestManifests(t *testing.T) {
	manifest := parse(t, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  creationTimestamp: null
  labels: {app: web, app.kubernetes.io/managed-by: Helm, tier: back}
  annotations: {meta.helm.sh/release-name: shop, helm.sh/resource-policy: keep}
spec: {replicas: 1}
`)
	ref := object.RefOf(manifest)
	ref.Namespace = "shop"
	set := &Set{
		Owners: []owner.Owner{{Kind: owner.HelmRelease, Name: "shop"}}, Labels: []string{"tier"},
		Objects: []Object{{Ref: ref, Manifest: manifest, Labels: []string{helmManagedBy}}},
	}
	want := parse(t, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  labels: {app: web, app.kubernetes.io/managed-by: Helm}
  annotations: {helm.sh/resource-policy: keep, cli-utils.sigs.k8s.io/on-remove: keep}
spec: {replicas: 1}
`)
	if diff := cmp.Diff(want, set.Manifests()[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	marks := set.Marks(kubectlApplied)
	if diff := cmp.Diff([]string{helmManagedBy, "tier"}, marks.NoLabels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

// TestCheckApplySetID: a parent with the ID of another name is refused.
func TestCheckApplySetID(t *testing.T) {
	parent := object.Ref{Kind: "Secret", Namespace: "test", Name: "mySet"}
	const id = "applyset-nqNkDlL072a9O3FBtGMDroXnF18TNtgUetAA6vsaglI-v1"
	if err := checkApplySetID(parent, id); err != nil {
		t.Error(err)
	}
	parent.Name = "other"
	if err := checkApplySetID(parent, id); err == nil {
		t.Error("the ID of another parent verifies")
	}
}

// TestCompare: what a tool changed since an adoption began is an error; objects that lost their
// marks may be missing.
func TestCompare(t *testing.T) {
	at := func(name string) Object { return Object{Ref: object.Ref{Kind: "ConfigMap", Name: name}} }
	record := func(uid types.UID) []RecordChange { return []RecordChange{{UID: uid}} }
	began := &Set{
		Title: "the set", Version: "revision 1", Objects: []Object{at("a"), at("b")},
		Record: record("u"),
	}
	for want, now := range map[string]*Set{
		"": {Version: "revision 1", Objects: []Object{at("b")}, Record: record("u")},
		"the set has become revision 2 since its adoption was begun at revision 1"://
		{Version: "revision 2"},
		"the set has objects that it did not have when its adoption was begun: configmap/x"://
		{Version: "revision 1", Objects: []Object{at("b"), at("x")}},
		"the set has a record that it did not have"://
		{Version: "revision 1", Record: record("other")},
	} {
		err := began.compare(now)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestIsMade: a record is hidden only if its object is as the change leaves it.
func TestIsMade(t *testing.T) {
	parent := parse(t, `{kind: Secret, metadata: {name: shop, labels: {applyset.kubernetes.io/id: x},
		annotations: {applyset.kubernetes.io/tooling: kubectl/v1}}}`)
	change := hideParent(parent)
	if change.isMade(parent) {
		t.Error("a parent that was not changed is hidden")
	}
	if !change.isMade(parse(t, `{kind: Secret, metadata: {name: shop, labels: {a: b}}}`)) {
		t.Error("a hidden parent is not")
	}
	if relabel(storedRelease{}).isMade(parse(t, `{kind: Secret, metadata: {name: shop}}`)) {
		t.Error("a revision without its new label is hidden")
	}
}

// TestCheckRead: what could not be read is not taken for absent, unless its kind does not exist.
func TestCheckRead(t *testing.T) {
	a, b := object.Ref{Kind: "A", Name: "a"}, object.Ref{Kind: "B", Name: "b"}
	s := &cluster.Snapshot{Unserved: object.NewSet(a, b), NoKind: object.NewSet(a)}
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "found out: b/b;") {
		t.Error(err)
	}
	s.NoKind.Insert(b)
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

// TestIsAppliedAs: an object of a controller with a copied annotation of kubectl was not applied.
func TestIsAppliedAs(t *testing.T) {
	for name, want := range map[string]bool{"web": true, "web-1": false} {
		obj := parse(t, `{kind: ReplicaSet, metadata: {name: `+name+`, annotations: {`+kubectlApplied+
			`: '{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web"}}'}}}`)
		if got := isAppliedAs(obj); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestCanonical: all spellings of one set have one name.
func TestCanonical(t *testing.T) {
	for spelled, want := range map[[2]string]string{
		{"applyset", "old"}: "secret/old", {"applyset", "Secrets/old"}: "secret/old",
		{"applyset", "cm/old"}: "configmap/old", {"applyset", "Kind.g/old"}: "Kind.g/old",
		{"selector", "app==shop"}: "app=shop", {"selector", "app in (shop)"}: "app=shop",
		{"selector", "b=c, app = shop"}: "app=shop,b=c", {"selector", "!"}: "!",
		{"flux", "infra"}: "kustomization/infra", {"flux", "HelmRelease/web"}: "helmrelease/web",
		{"argocd", "application/web"}: "web", {"helm", "web"}: "web",
	} {
		got := Canonical(Request{Tool: Tool(spelled[0]), Name: spelled[1], Namespace: "n"})
		if got.Name != want {
			t.Errorf("%v: %q, want %q", spelled, got.Name, want)
		}
	}
}

// TestExtractStringData: the manifest of a Secret that was applied with stringData has its data.
func TestExtractStringData(t *testing.T) {
	live := parse(t, `
apiVersion: v1
kind: Secret
metadata:
  name: db
  managedFields:
  - {manager: helm, operation: Apply, apiVersion: v1, fieldsV1: {f:stringData: {f:password: {}}}}
data: {password: eA==, other: eQ==}
`)
	got := extractApplied(live, []string{"helm"})
	if diff := cmp.Diff(map[string]any{"password": "eA=="}, got.Object["data"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAlias: a release that Flux installs is found by both of its names.
func TestAlias(t *testing.T) {
	set := &Set{
		Tool: Helm, Record: []RecordChange{{Ref: object.Ref{Namespace: "storage"}}},
		Owners: []owner.Owner{{Kind: owner.HelmRelease, Name: "web", Namespace: "n"}},
	}
	if _, has := set.Alias(Request{Tool: Helm, Name: "web"}); has {
		t.Error("a release that Helm installs has two names")
	}
	want := Request{Tool: Helm, Name: "web", Namespace: "storage"}
	if got, _ := set.Alias(Request{Tool: Flux}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	set.Owners = append(set.Owners, owner.Owner{Kind: owner.FluxRelease, Name: "f", Namespace: "n"})
	want = Request{Tool: Flux, Name: "helmrelease/f", Namespace: "n"}
	if got, _ := set.Alias(Request{Tool: Helm}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
