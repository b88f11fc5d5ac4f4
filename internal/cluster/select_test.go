package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
)

var (
	configMaps  = schema.GroupKind{Kind: "ConfigMap"}
	namespaces  = schema.GroupKind{Kind: "Namespace"}
	deployments = schema.GroupKind{Group: "apps", Kind: "Deployment"}
)

func TestListable(t *testing.T) {
	a := &api{groups: kindsOfAPI()}
	a.groups["down.example.com/v1"] = nil
	found, broken, err := a.start(t).ListableKinds(t.Context())
	want := []ListableKind{
		{configMaps, "v1", true},
		{namespaces, "v1", false},
		{deployments, "v1", true},
	}
	if diff := cmp.Diff(want, found); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	down := schema.GroupVersion{Group: "down.example.com", Version: "v1"}
	if len(broken) != 1 || broken[down] == nil {
		t.Errorf("broken: %v", broken)
	}
	const text = "unable to retrieve the complete list of server APIs: down.example.com/v1: no"
	if err := DiscoveryError(broken); err == nil || err.Error() != text {
		t.Errorf("incomplete: %v, want %s", err, text)
	}
	if err := DiscoveryError(nil); err != nil {
		t.Errorf("complete: %v", err)
	}
}

// The selector is x=y in all of these.
const (
	query  = "?labelSelector=x%3Dy&limit=500"
	cmPath = "GET /api/v1/configmaps" + query
	nsPath = "GET /api/v1/namespaces" + query
	dpPath = "GET /apis/apps/v1/deployments" + query
)

// TestSelect covers the requests and results of one call of Select.
func TestSelect(t *testing.T) {
	was := stalePauses
	stalePauses = make([]time.Duration, 3)
	t.Cleanup(func() { stalePauses = was })
	things, thingsPath := schema.GroupKind{Group: "example.com", Kind: "Thing"},
		"GET /apis/example.com/v1/things"+query
	one, two := thing("v1", "ConfigMap", "n/one", "x=y"), thing("v1", "ConfigMap", "m/two", "x=y")
	other := thing("v1", "ConfigMap", "n/other", "x=z")
	names := map[string]any{
		"items": []any{
			map[string]any{"metadata": map[string]any{"name": "n"}},
			map[string]any{"metadata": map[string]any{"name": "m"}},
		},
	}
	both := Selection{Kinds: []schema.GroupKind{configMaps, namespaces}, Fallback: []string{"n"}}
	inN := "GET /api/v1/namespaces/n/configmaps" + query
	inM := "GET /api/v1/namespaces/m/configmaps" + query
	allNames := "GET /api/v1/namespaces?limit=500"
	const slower = "Falling back to checking each namespace separately (much slower)"
	for _, tc := range []struct {
		name    string
		s       Selection
		answers map[string][]any
		asked   []string
		want    []string
		reports []string
		missed  []string
		failure string
	}{
		{
			name: "all kinds",
			answers: map[string][]any{
				cmPath: {page("5", "", one, other)}, nsPath: {page("5", "")},
				dpPath: {page("6", "", thing("apps/v1", "Deployment", "n/web", "x=y"))},
			},
			asked: []string{cmPath, nsPath, dpPath}, want: []string{"n/one", "n/web"},
		},
		{
			name: "a version that is wanted",
			s: Selection{
				Kinds:    []schema.GroupKind{deployments, {Group: "gone", Kind: "Gone"}},
				Versions: map[schema.GroupKind]string{deployments: "v1beta1"},
			},
			answers: map[string][]any{
				definitionsPath + "?limit=500":               {page("5", "")},
				"GET /apis/apps/v1beta1/deployments" + query: {page("6", "")},
			},
			asked: []string{
				definitionsPath + "?limit=500", "GET /apis/apps/v1beta1/deployments" + query,
			},
		},
		{
			name: "no kinds", s: Selection{Kinds: []schema.GroupKind{}},
		},
		{
			name: "in pages", s: Selection{Kinds: []schema.GroupKind{configMaps}},
			answers: map[string][]any{
				cmPath: {page("5", "c", one)},
				"GET /api/v1/configmaps?continue=c&labelSelector=x%3Dy&limit=500": {page("5", "", two)},
			},
			asked: []string{
				"GET /api/v1/configmaps?continue=c&labelSelector=x%3Dy&limit=500", cmPath,
			},
			want: []string{"n/one", "m/two"},
		},
		{
			name: "in pages that are too slow", s: Selection{Kinds: []schema.GroupKind{configMaps}},
			answers: map[string][]any{
				cmPath: {page("5", "c", one)},
				"GET /api/v1/configmaps?continue=c&labelSelector=x%3Dy&limit=500": {http.StatusGone},
				"GET /api/v1/configmaps?labelSelector=x%3Dy":                      {page("7", "", one, two)},
			},
			asked: []string{
				"GET /api/v1/configmaps?continue=c&labelSelector=x%3Dy&limit=500",
				"GET /api/v1/configmaps?labelSelector=x%3Dy", cmPath,
			},
			want: []string{"n/one", "m/two"},
		},
		{
			name: "forbidden, but for each namespace", s: both,
			answers: map[string][]any{
				allNames: {names}, inN: {page("5", "", one)}, inM: {page("5", "", two)},
			},
			asked: []string{cmPath, nsPath, allNames, inM, inN}, want: []string{"n/one", "m/two"},
			reports: []string{slower}, missed: []string{"Namespace altogether"},
		},
		{
			name: "forbidden, but for one namespace", s: both,
			answers: map[string][]any{allNames: {names}, inN: {page("5", "", one)}},
			asked:   []string{cmPath, nsPath, allNames, inM, inN}, want: []string{"n/one"},
			reports: []string{slower}, missed: []string{"ConfigMap m", "Namespace altogether"},
		},
		{
			name: "forbidden, and so are the names", s: both,
			answers: map[string][]any{inN: {page("5", "", one)}},
			asked:   []string{cmPath, nsPath, allNames, inN}, want: []string{"n/one"},
			missed: []string{"Namespace altogether"},
		},
		{
			name: "forbidden altogether", s: both, asked: []string{cmPath, nsPath, allNames, inN},
			missed: []string{"ConfigMap altogether n", "Namespace altogether"},
		},
		{
			name:    "only the fallback",
			s:       Selection{Kinds: both.Kinds, Fallback: both.Fallback, OnlyFallback: true},
			answers: map[string][]any{inN: {page("5", "", one)}, nsPath: {page("5", "")}},
			asked:   []string{nsPath, inN}, want: []string{"n/one"}, missed: []string{"ConfigMap"},
		},
		{
			name: "not served any more", s: Selection{Kinds: []schema.GroupKind{configMaps}},
			answers: map[string][]any{cmPath: {unservedPath}}, asked: slices.Repeat([]string{cmPath}, 4),
			missed: []string{"ConfigMap"}, // though discovery says that it is
		},
		{
			name: "gone before the server says so", s: Selection{Kinds: []schema.GroupKind{things}},
			answers: map[string][]any{
				thingsPath:                     {unservedPath, unservedPath, endOfGroup("example.com/v1")},
				definitionsPath + "?limit=500": {page("5", "")},
			},
			asked: append(slices.Repeat([]string{thingsPath}, 3), definitionsPath+"?limit=500"),
		},
		{
			name: "a hiccup", s: Selection{Kinds: []schema.GroupKind{configMaps}},
			answers: map[string][]any{cmPath: {http.StatusServiceUnavailable, page("5", "", one)}},
			asked:   []string{cmPath, cmPath}, want: []string{"n/one"},
		},
		{
			name: "a group that cannot be described",
			s: Selection{
				Kinds: []schema.GroupKind{
					{Group: "down.example.com", Kind: "Down"}, {Group: "gone", Kind: "Gone"},
				},
			},
			answers: map[string][]any{definitionsPath + "?limit=500": {page("5", "")}},
			asked:   []string{definitionsPath + "?limit=500"},
			missed:  []string{"Down.down.example.com"},
		},
		{
			name: "a failure", s: Selection{Kinds: []schema.GroupKind{configMaps}},
			answers: map[string][]any{cmPath: {http.StatusInternalServerError}},
			asked:   slices.Repeat([]string{cmPath}, 1+maxInternal), failure: "list configmaps: no",
		},
		{
			name: "a failure that does not matter",
			answers: map[string][]any{
				cmPath: {page("5", "", one)}, nsPath: {page("5", "")},
				dpPath: {http.StatusInternalServerError},
			},
			s: Selection{
				Ignore: func(gv schema.GroupVersion) bool { return gv.Group == "apps" },
			},
			asked: append(slices.Repeat([]string{dpPath}, 1+maxInternal), cmPath, nsPath),
			want:  []string{"n/one"}, missed: []string{"Deployment.apps"},
			reports: []string{
				`Ignoring group version: schema.GroupVersionResource{Group:"apps", ` +
					`Version:"v1", Resource:"deployments"}: no`,
			},
		},
		{
			name:    "a failure in a version that does not matter, of a kind with one that does",
			answers: map[string][]any{dpPath: {http.StatusInternalServerError}},
			s: Selection{
				Kinds:  []schema.GroupKind{deployments},
				Ignore: func(gv schema.GroupVersion) bool { return gv.Version == "v1" },
			},
			asked:   slices.Repeat([]string{dpPath}, 1+maxInternal),
			failure: "list deployments.apps: no",
		},
		{
			name: "one object as two kinds",
			s:    Selection{Kinds: []schema.GroupKind{configMaps, deployments}},
			answers: map[string][]any{
				cmPath: {page("5", "", thing("v1", "ConfigMap", "n/one", "x=y"))},
				dpPath: {page("5", "", thing("apps/v1", "Deployment", "n/one", "x=y"))},
			},
			asked: []string{cmPath, dpPath}, want: []string{"Deployment n/one"},
		},
		{
			name: "one object as two kinds, of which one is preferred",
			s: Selection{
				Kinds:         []schema.GroupKind{configMaps, deployments},
				WantedVersion: func(*unstructured.Unstructured) string { return "v1" },
			},
			answers: map[string][]any{
				cmPath: {page("5", "", thing("v1", "ConfigMap", "n/one", "x=y"))},
				dpPath: {page("5", "", thing("apps/v1", "Deployment", "n/one", "x=y"))},
			},
			asked: []string{cmPath, dpPath}, want: []string{"ConfigMap n/one"},
		},
		{
			name: "objects that are wanted in another version",
			s:    Selection{Kinds: []schema.GroupKind{deployments}, WantedVersion: annotated},
			answers: map[string][]any{
				dpPath: {
					page(
						"5", "", form("v1", "n/a", "apps/v1"), form("v1", "n/b", "apps/v1beta1"),
						form("v1", "n/c", "apps/v9"), form("v1", "n/d", "apps/v1beta1"),
					),
				},
				"GET /apis/apps/v1beta1/deployments" + query: {
					page(
						"6", "", form("v1beta1", "n/a", "apps/v1"),
						form("v1beta1", "n/b", "apps/v1beta1"),
					),
				},
			},
			asked: []string{dpPath, "GET /apis/apps/v1beta1/deployments" + query},
			want:  []string{"n/a", "apps/v1beta1 n/b", "n/c", "n/d"},
		},
		{
			name: "objects without a UID", s: Selection{Kinds: []schema.GroupKind{configMaps}},
			answers: map[string][]any{
				cmPath: {page("5", "", withoutUID("n/a"), withoutUID("n/b"))},
			},
			asked: []string{cmPath}, want: []string{"n/a", "n/b"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := &api{groups: kindsOfAPI(), answers: tc.answers}
			a.groups["down.example.com/v1"] = nil
			if tc.answers[thingsPath] != nil {
				a.groups["example.com/v1"] = []metav1.APIResource{
					{Name: "things", Kind: "Thing", Namespaced: true, Verbs: listing},
				}
			}
			var reports, missed []string
			tc.s.Selector, tc.s.Report = "x=y", func(text string) {
				reports = append(reports, text)
			}
			tc.s.Unlisted = func(m UnlistedKind) {
				text := m.GroupKind.String()
				if m.Forbidden {
					text += " altogether"
				}
				missed = append(missed, strings.Join(append([]string{text}, m.Namespaces...), " "))
			}
			found, err := a.start(t).Select(t.Context(), tc.s)
			if failed := (*ListError)(nil); tc.failure != "" &&
				(!errors.As(err, &failed) || err.Error() != tc.failure) ||
				tc.failure == "" && err != nil {
				t.Errorf("error %v, want %s", err, tc.failure)
			}
			var got []string
			for _, obj := range found {
				name := obj.GetNamespace() + "/" + obj.GetName()
				for _, full := range []string{
					obj.GetKind() + " " + name, obj.GetAPIVersion() + " " + name,
				} {
					if slices.Contains(tc.want, full) {
						name = full
					}
				}
				got = append(got, name)
				if obj.GetManagedFields() != nil {
					t.Errorf("%s has its managed fields", name)
				}
			}
			slices.Sort(tc.asked)
			slices.Sort(missed)
			for what, diff := range map[string]string{
				"missed": cmp.Diff(tc.missed, missed), "found": cmp.Diff(tc.want, got),
				"asked": cmp.Diff(tc.asked, a.requests()), "reports": cmp.Diff(tc.reports, reports),
			} {
				if diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

// form is a Deployment in a version, deployed in another one.
func form(version, name, deployed string) map[string]any {
	obj := thing("apps/"+version, "Deployment", name, "x=y")
	obj["metadata"].(map[string]any)["annotations"] = map[string]any{"deployed": deployed}
	return obj
}

func annotated(obj *unstructured.Unstructured) string { return obj.GetAnnotations()["deployed"] }

func withoutUID(name string) map[string]any {
	obj := thing("v1", "ConfigMap", name, "x=y")
	delete(obj["metadata"].(map[string]any), "uid")
	return obj
}

func TestSelectKeepsOwners(t *testing.T) {
	a := &api{
		groups: kindsOfAPI(),
		answers: map[string][]any{
			cmPath: {page("5", "", thing("v1", "ConfigMap", "n/one", "x=y"))},
		},
	}
	found, err := a.start(t).
		Select(
			t.Context(),
			Selection{Selector: "x=y", Kinds: []schema.GroupKind{configMaps}, ManagedFields: true},
		)
	if err != nil || len(found) != 1 || len(found[0].GetManagedFields()) != 1 {
		t.Errorf("found %v, %v", found, err)
	}
	if _, err := a.start(t).Select(t.Context(), Selection{Selector: "==="}); err == nil {
		t.Error("a selector that is none was taken")
	}
}

// A watch starts from the earliest list only for objects that lists covered.
func TestSince(t *testing.T) {
	single := func(name string) string {
		return "GET /api/v1/namespaces/n/configmaps?fieldSelector=metadata.name%3D" + name + "&limit=10"
	}
	a := &api{groups: kindsOfAPI(), answers: map[string][]any{
		cmPath: {
			page("9", "", thing("v1", "ConfigMap", "n/one", "x=y")),
		}, single("two"): {page("10", "")}, single("three"): {page("8", "")},
		single("odd"): {page("x1", "")},
	}}
	c := a.start(t)
	resource := schema.GroupResource{Resource: "configmaps"}
	ref := func(name string) object.Ref {
		return object.Ref{Kind: "ConfigMap", Namespace: "n", Name: name}
	}
	check := func(want string, names ...string) {
		t.Helper()
		var refs []object.Ref
		for _, name := range names {
			refs = append(refs, ref(name))
		}
		if got := c.watchVersion(resource, refs); got != want {
			t.Errorf("%v are known since %q, want %q", names, got, want)
		}
	}
	read := func(name string) {
		t.Helper()
		if _, err := c.Read(t.Context(), []Target{{Ref: ref(name)}}); err != nil {
			t.Fatal(err)
		}
	}
	check("", "one")
	if _, err := c.Select(
		t.Context(), Selection{Selector: "x=y", Kinds: []schema.GroupKind{configMaps}},
	); err != nil {
		t.Fatal(err)
	}
	check("9", "one")
	check("", "one", "two")
	read("two")
	check("9", "one", "two")
	read("three")
	check("8", "one", "three")
	read("odd")
	check("", "one")
}

// TestRediscover keeps the kinds of definitions until the server serves them.
func TestRediscover(t *testing.T) {
	a := &api{groups: kindsOfAPI(), answers: map[string][]any{
		definitionsPath + "?limit=500": {page("5", "")},
	}}
	c := a.start(t)
	crd := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": "example.com", "scope": "Namespaced",
		"names":    map[string]any{"kind": "CronTab", "plural": "crontabs"},
		"versions": []any{map[string]any{"name": "v1", "served": true}},
	}}}
	gk := schema.GroupKind{Group: "example.com", Kind: "CronTab"}
	if err := c.LearnKind(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	crontabs := Selection{Selector: "x=y", Kinds: []schema.GroupKind{gk}}
	found, err := c.Select(t.Context(), crontabs)
	if err != nil || len(found) > 0 || len(a.requests()) > 1 {
		t.Errorf("a kind that is only just being defined: %v, %v", found, err)
	}
	coming := Kind{
		Resource: schema.GroupVersionResource{
			Group:    "example.com",
			Version:  "v1",
			Resource: "crontabs",
		},
		Pending:    []string{"v1"},
		Namespaced: true,
		Listed:     true,
	}
	for _, want := range []Kind{
		coming,
		{
			Resource: coming.Resource, Served: []string{"v1"}, Pending: []string{},
			Namespaced: true, Listed: true,
		},
	} {
		if err := c.Rediscover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Kind(t.Context(), gk); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(want, got))
		}
		a.groups["example.com/v1"] = []metav1.APIResource{
			{Name: "crontabs", Kind: "CronTab", Namespaced: true, Verbs: listing},
		}
	}
}

// TestSelectConcurrency has a server that answers no list before all that may be sent are there.
// Each kind is listed once, and no object is missed.
func TestSelectConcurrency(t *testing.T) {
	const kinds = 3 * selectConcurrency
	a := &api{groups: map[string][]metav1.APIResource{"v1": {}}, answers: map[string][]any{}}
	for i := range kinds {
		gv := fmt.Sprintf("g%03d.example.com/v1", i)
		a.groups[gv] = []metav1.APIResource{{Name: "things", Kind: "Thing", Verbs: listing}}
		path := "GET /apis/" + gv + "/things" + query
		a.answers[path] = []any{page("5", "")}
		if i%50 == 0 {
			a.answers[path] = []any{page("5", "", thing(gv, "Thing", fmt.Sprint(i), "x=y"))}
		}
	}
	var inFlight, most atomic.Int64
	full := make(chan struct{})
	a.hold = func() (done func()) {
		n := inFlight.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		if n == selectConcurrency {
			close(full)
		}
		<-full
		return func() { inFlight.Add(-kinds) } // never full again
	}
	found, err := a.start(t).Select(t.Context(), Selection{Selector: "x=y"})
	if err != nil || len(found) != 4 || len(a.requests()) != kinds ||
		most.Load() != selectConcurrency {
		t.Errorf("found %d, %v with %d at once", len(found), err, most.Load())
	}
}

// Custom resources whose latest state is not needed come from the server's cache.
func TestSelectFromCache(t *testing.T) {
	groups := kindsOfAPI()
	for _, group := range []string{"example.com", "used.example.com", "networking.k8s.io"} {
		groups[group+"/v1"] = []metav1.APIResource{
			{Name: "things", Kind: "Thing", Namespaced: true, Verbs: listing},
		}
	}
	answers := map[string][]any{
		cmPath: {page("5", "")}, nsPath: {page("5", "")}, dpPath: {page("5", "")},
	}
	const cached = "GET /apis/example.com/v1/things?labelSelector=x%3Dy&resourceVersion=0"
	var want []string
	for path := range answers {
		want = append(want, path)
	}
	for _, path := range []string{cached, "GET /apis/used.example.com/v1/things" + query,
		"GET /apis/networking.k8s.io/v1/things" + query} {
		answers[path] = []any{page("5", "")}
		want = append(want, path)
	}
	a := &api{groups: groups, answers: answers}
	_, err := a.start(t).Select(t.Context(), Selection{
		Selector: "x=y", Latest: []schema.GroupKind{{Group: "used.example.com", Kind: "Thing"}},
	})
	slices.Sort(want)
	if diff := cmp.Diff(want, a.requests()); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
