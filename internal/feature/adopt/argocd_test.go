package adopt

import (
	"context"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
)

// liveObjects is a Cluster that has some objects.
type liveObjects struct {
	cluster.Reader
	objects []*unstructured.Unstructured
}

func (l liveObjects) Read(
	_ context.Context, targets []cluster.Target,
) (*cluster.Snapshot, error) {
	found := map[object.Ref]*unstructured.Unstructured{}
	for _, target := range targets {
		for _, obj := range l.objects {
			if object.RefOf(obj) == target.Ref {
				found[target.Ref] = obj
			}
		}
	}
	return &cluster.Snapshot{
		Objects: found, Unserved: object.NewSet(), NoKind: object.NewSet(),
	}, nil
}

// TestReadApplication: the set of an Application is what Argo CD has deployed in this cluster.
func TestReadApplication(t *testing.T) {
	resources := `resources: [{version: v1, kind: ConfigMap, namespace: shop, name: a}, ` +
		`{version: v1, kind: ConfigMap, namespace: shop, name: b}]`
	tracked := func(name, id string) *unstructured.Unstructured {
		return parse(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: `+name+`, namespace: shop, `+
			`annotations: {argocd.argoproj.io/tracking-id: "`+id+`"}}}`)
	}
	theirs := parse(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: shop}}`)
	for name, test := range map[string]struct {
		app  string
		live []*unstructured.Unstructured
		want string // objects and version, or the error
	}{
		"this cluster": {
			`{spec: {destination: {server: "https://kubernetes.default.svc"}}, status: {` + resources + `}}`,
			[]*unstructured.Unstructured{
				tracked("a", "web:/ConfigMap:shop/a"), tracked("b", "web:/ConfigMap:shop/b"),
			}, "shop/configmap/a shop/configmap/b",
		},
		"another cluster": {
			`{spec: {destination: {server: "https://far:6443"}}, status: {` + resources + `}}`,
			[]*unstructured.Unstructured{tracked("a", "web:/ConfigMap:shop/a")},
			"deploys to another cluster (spec.destination: https://far:6443)",
		},
		"another cluster by its name": {
			`{spec: {destination: {name: far}}, status: {` + resources + `}}`, nil,
			"deploys to another cluster (spec.destination: far)",
		},
		"an object that was not synced yet": {
			`{status: {` + resources + `}}`,
			[]*unstructured.Unstructured{tracked("a", "web:/ConfigMap:shop/a"), theirs},
			"shop/configmap/a",
		},
		"another namespace than that of Argo CD": {
			`{status: {controllerNamespace: argocd, ` + resources + `}}`,
			[]*unstructured.Unstructured{tracked("a", "apps_web:/ConfigMap:shop/a")},
			"shop/configmap/a",
		},
		"the revision that was synced": {
			`{status: {operationState: {syncResult: {revision: one}}, sync: {revision: two}, ` +
				resources + `}}`,
			[]*unstructured.Unstructured{tracked("a", "web:/ConfigMap:shop/a")}, "shop/configmap/a one",
		},
		"many sources": {
			`{status: {sync: {revisions: [one, two]}, ` + resources + `}}`,
			[]*unstructured.Unstructured{tracked("a", "web:/ConfigMap:shop/a")},
			"shop/configmap/a one, two",
		},
		"a template": {
			`{metadata: {ownerReferences: [{kind: ApplicationSet, name: all, controller: true}]}, ` +
				`spec: {syncPolicy: {automated: {}}}}`, nil,
			`first remove syncPolicy.automated from what ApplicationSet "all" applies`,
		},
		"a parent": {
			`{metadata: {annotations: {argocd.argoproj.io/tracking-id: ` +
				`"root:argoproj.io/Application:apps/web"}}, spec: {syncPolicy: {automated: {}}}}`, nil,
			`first remove syncPolicy.automated from what Argo CD application "root" applies`,
		},
	} {
		app := parse(t, test.app)
		app.SetAPIVersion("argoproj.io/v1alpha1")
		app.SetKind("Application")
		app.SetNamespace("apps")
		app.SetName("web")
		set, err := Read(t.Context(), liveObjects{objects: append(test.live, app)}, Request{
			Tool: ArgoCD, Name: "web", Namespace: "apps",
		})
		got := ""
		if err == nil {
			for _, obj := range set.Objects {
				got += obj.Ref.String() + " "
			}
			got = strings.TrimSpace(got + set.Version)
		} else if strings.Contains(err.Error(), test.want) {
			got = test.want
		}
		if got != test.want {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, test.want)
		}
	}
}

// TestApplier: who applies an Application may have it synced again, which is noted.
func TestApplier(t *testing.T) {
	const note = `Argo CD application "root" applies the Application, and has it synced again if ` +
		`its manifest has syncPolicy.automated`
	app := parse(t, `{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: web,
		namespace: apps, annotations: {
		argocd.argoproj.io/tracking-id: "root:argoproj.io/Application:apps/web"}}, status: {
		resources: [{version: v1, kind: ConfigMap, namespace: shop, name: a}]}}`)
	obj := parse(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop,
		annotations: {argocd.argoproj.io/tracking-id: "web:/ConfigMap:shop/a"}}}`)
	set, err := Read(t.Context(), liveObjects{objects: []*unstructured.Unstructured{app, obj}},
		Request{Tool: ArgoCD, Name: "web", Namespace: "apps"})
	if err != nil || !slices.Contains(set.Notes, note) {
		t.Errorf("the notes are %q, %v", set.Notes, err)
	}
}

// TestHookText: a file for hooks has those whose manifests are known.
func TestHookText(t *testing.T) {
	set := &Set{Title: "it", Hooks: []Hook{{When: "hook of Argo CD"}}}
	if text := set.HookText(); text != "" {
		t.Errorf("the text of hooks without manifests is %q", text)
	}
	set.Hooks = append(set.Hooks, Hook{Text: "kind: Job", Source: "job.yaml"})
	if text := set.HookText(); !strings.HasSuffix(text, ".md.\n---\n# job.yaml\nkind: Job\n") {
		t.Errorf("the text of hooks is %q", text)
	}
}

// TestCheckTracking: an Application whose objects Argo CD may find by a label that stays is refused
// with a finalizer or without one.
func TestCheckTracking(t *testing.T) {
	app := parse(t, `{kind: Application, metadata: {name: pages}}`)
	for metadata, want := range map[string]string{
		`{name: a, labels: {app.kubernetes.io/instance: pages}}`: "may find configmap/a by the label",
		`{name: a, labels: {app.kubernetes.io/instance: other}}`: "",
		`{name: a, labels: {app.kubernetes.io/instance: pages},
			annotations: {argocd.argoproj.io/tracking-id: x}}`: "",
	} {
		live := []*unstructured.Unstructured{parse(t, `{kind: ConfigMap, metadata: `+metadata+`}`)}
		set := &Set{Title: "it", Owners: []owner.Owner{{Kind: owner.Application, Name: "pages"}}}
		err := set.checkTracking(live, app)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", metadata, err, want)
		}
	}
}

// TestCheckIdle: an Application that is being synced is refused.
func TestCheckIdle(t *testing.T) {
	for text, busy := range map[string]bool{
		`{operation: {sync: {}}}`:                               true,
		`{status: {operationState: {phase: Running}}}`:          true,
		`{metadata: {deletionTimestamp: 2026-01-01T00:00:00Z}}`: true,
		`{status: {operationState: {phase: Succeeded}}}`:        false,
	} {
		if err := checkIdle("it", parse(t, text)); (err != nil) != busy {
			t.Errorf("%s: %v", text, err)
		}
	}
}
