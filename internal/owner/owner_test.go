package owner

import (
	"context"
	"errors"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

// TestOf: each kind of owner is recognized by its marks, and named.
func TestOf(t *testing.T) {
	for _, test := range []struct {
		name, metadata string
		want           string
	}{
		{"nobody", `{labels: {app: web, app.kubernetes.io/managed-by: Helm,
			app.kubernetes.io/instance: web}}`, ""},
		{"package", `{annotations: {config.k8s.io/owning-inventory: id-1}}`,
			"the package with inventory ID id-1"},
		{"app", `{labels: {kapp.k14s.io/app: "17", kapp.k14s.io/association: v1.ab}}`,
			"the app with label kapp.k14s.io/app=17"},
		{"Helm", `{annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: shop}}`,
			`Helm release "web" in namespace shop`},
		{"Flux", `{labels: {kustomize.toolkit.fluxcd.io/name: apps,
			kustomize.toolkit.fluxcd.io/namespace: flux-system}}`,
			`Flux Kustomization "apps" in namespace flux-system`},
		{"Flux with Helm", `{labels: {helm.toolkit.fluxcd.io/name: web, helm.toolkit.fluxcd.io/namespace: shop},
			annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: shop}}`,
			`Flux HelmRelease "web" in namespace shop and Helm release "web" in namespace shop`},
		{"Argo CD by annotation", `{name: web, namespace: shop, annotations: {
			argocd.argoproj.io/tracking-id: "web:apps/Deployment:shop/web"}}`,
			`Argo CD application "web"`},
		{"Argo CD in another namespace", `{name: web, namespace: shop, annotations: {
			argocd.argoproj.io/tracking-id: "team_web:apps/Deployment:shop/web"}}`,
			`Argo CD application "web" in namespace team`},
		{"Argo CD without a namespace", `{name: web, annotations: {
			argocd.argoproj.io/tracking-id: "web:/Namespace:shop/web"}}`, `Argo CD application "web"`},
		{"a copy of an object of Argo CD", `{name: copy, namespace: shop, annotations: {
			argocd.argoproj.io/tracking-id: "web:apps/Deployment:shop/web"}}`, ""},
		{"a copy in another namespace", `{name: web, namespace: other, annotations: {
			argocd.argoproj.io/tracking-id: "web:apps/Deployment:shop/web"}}`, ""},
		{"Argo CD by label", `{labels: {argocd.argoproj.io/instance: web}}`, `Argo CD application "web"`},
		{"Argo CD by manager", `{labels: {app.kubernetes.io/instance: web},
			managedFields: [{manager: argocd-controller}]}`,
			`Argo CD application "web"`},
		{"ApplySet",
			`{labels: {applyset.kubernetes.io/part-of: applyset-x-v1}}`, `ApplySet "applyset-x-v1"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Text(Of(parse(t, `metadata: `+test.metadata))); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if found := Of(nil); found != nil {
		t.Errorf("no object belongs to %v", found)
	}
}

// TestOthers: what the set itself applied to its own objects is not a mark of others.
func TestOthers(t *testing.T) {
	const helm = `meta.helm.sh/release-name: web`
	self := Owner{Kind: Package, ID: "me"}
	own := parse(t, `metadata: {annotations: {config.k8s.io/owning-inventory: me, `+helm+`}}`)
	marked := func(id string) *unstructured.Unstructured {
		return parse(t, `metadata: {annotations: {config.k8s.io/owning-inventory: `+id+`}}`)
	}
	foreign := parse(t, `metadata: {annotations: {`+helm+`}}`)
	manifest := parse(t, `metadata: {annotations: {`+helm+`}}`)
	for name, test := range map[string]struct {
		live, applied *unstructured.Unstructured
		want          string
	}{
		"taken by another since":        {own, nil, `Helm release "web"`},
		"applied with the mark":         {own, manifest, ""},
		"never the set's":               {foreign, manifest, `Helm release "web"`},
		"the mark of the set alone":     {marked("me"), nil, ""},
		"the mark of another inventory": {marked("you"), nil, "the package with inventory ID you"},
	} {
		if got := Text(Others(test.live, test.applied, self)); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// records is a Lister of records; a list of all namespaces fails if forbidden is set.
type records struct {
	objects   []*unstructured.Unstructured
	forbidden bool
	lists     []string
}

func (r *records) List(
	_ context.Context, kind schema.GroupKind, namespace string, _ map[string]string,
) ([]*unstructured.Unstructured, error) {
	r.lists = append(r.lists, kind.Kind+" "+namespace)
	if r.forbidden && namespace == "" {
		return nil, errors.New("forbidden")
	}
	return slices.DeleteFunc(slices.Clone(r.objects), func(obj *unstructured.Unstructured) bool {
		return obj.GetKind() != kind.Kind || namespace != "" && obj.GetNamespace() != namespace
	}), nil
}

// TestNames: IDs get the names of the records, each kind of which is listed once.
func TestNames(t *testing.T) {
	objects := []*unstructured.Unstructured{
		parse(t, `{kind: ResourceGroup, metadata: {name: inventory-1, namespace: shop,
			labels: {cli-utils.sigs.k8s.io/inventory-id: id-1}}}`),
		parse(t, `{kind: ConfigMap, metadata: {name: web.apps.k14s.io, namespace: shop},
			data: {spec: '{"labelKey":"kapp.k14s.io/app","labelValue":"17"}'}}`),
		parse(t, `{kind: ConfigMap, metadata: {name: broken, namespace: shop}, data: {spec: '{'}}`),
	}
	owners := []Owner{{Kind: Package, ID: "id-1"}, {Kind: App, ID: "17"}, {Kind: App, ID: "18"},
		{Kind: Package, ID: "id-2"}, {Kind: HelmRelease, Name: "web"}}
	const want = `package "inventory-1" in namespace shop and app "web" in namespace shop and the ` +
		`app with label kapp.k14s.io/app=18 and the package with inventory ID id-2 and ` +
		`Helm release "web"`
	for _, forbidden := range []bool{false, true} {
		cluster := &records{objects: objects, forbidden: forbidden}
		names := Names{Cluster: cluster}
		if got := Text(names.FindAll(t.Context(), owners, "shop")); got != want {
			t.Errorf("got %s", got)
		}
		if lists := map[bool]int{false: 2, true: 4}[forbidden]; len(cluster.lists) != lists {
			t.Errorf("lists: %v", cluster.lists)
		}
	}
	for namespace, want := range map[string]string{"web": "", "shop": "web", "": ""} {
		elsewhere := Names{Cluster: &records{objects: objects, forbidden: true}}
		if got := elsewhere.Find(t.Context(), owners[1], "other", namespace).Name; got != want {
			t.Errorf("found %q with namespace %q, want %q", got, namespace, want)
		}
	}
	idle := &records{}
	names := Names{Cluster: idle}
	names.Find(t.Context(), Owner{Kind: HelmRelease, Name: "web"}, "shop")
	if len(idle.lists) > 0 {
		t.Errorf("lists for a name that is known: %v", idle.lists)
	}
}
