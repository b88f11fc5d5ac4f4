package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// The shape of a fleet: Sets of objectsPerSet objects each, setsPerNamespace in a namespace. Every
// second Set is an app, and one in reportShare reports what others change.
const (
	objectsPerSet    = 20
	setsPerNamespace = 10
	reportShare      = 10
)

// The resources that a fleet writes.
var (
	setResource = schema.GroupVersionResource{
		Group: "muster.dev", Version: "v1alpha1", Resource: "sets",
	}
	definitionResource = schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	}
)

// setsDefinition is the definition of Sets, from the folder in which the bench is run.
var setsDefinition = filepath.Join("..", "deploy", "crds", "sets.yaml")

// fleet is many Sets that the controller keeps.
type fleet struct {
	ground  *ground
	dynamic dynamic.Interface
	members []*member
	objects *observations // the values of the watched objects
	sets    *observations // the states of the Sets
}

// member is one Set of a fleet. Its source is a ConfigMap.
type member struct {
	namespace string
	number    int
	app       bool
	reports   bool // what others change; otherwise it is put back
	edition   int  // of the source
}

// name returns the name of the Set.
func (m *member) name() string { return fmt.Sprintf("set-%04d", m.number) }

// source returns the name of the source.
func (m *member) source() string { return fmt.Sprintf("source-%04d", m.number) }

// watched returns the name of the object that is watched.
func (m *member) watched() string { return fmt.Sprintf("watched-%04d", m.number) }

// setKey returns the key of the Set among observations.
func (m *member) setKey() string { return m.namespace + "/" + m.name() }

// objectKey returns the key of the watched object among observations.
func (m *member) objectKey() string { return m.namespace + "/" + m.watched() }

// value returns what the watched object holds in the present edition.
func (m *member) value() string { return fmt.Sprintf("edition %d", m.edition) }

// newFleet returns Sets for a number of objects, which do not exist yet.
func newFleet(g *ground, objects int) (*fleet, error) {
	f := &fleet{ground: g}
	for i := range max(2, objects/objectsPerSet) {
		f.members = append(f.members, &member{
			namespace: fmt.Sprintf("sets-%03d", i/setsPerNamespace), number: i,
			app: i%2 == 1, reports: i%reportShare == reportShare-1,
		})
	}
	var err error
	f.dynamic, err = dynamic.NewForConfig(g.config)
	return f, err
}

// install installs the definition of Sets, and waits until the server serves it.
func (f *fleet) install(ctx context.Context) error {
	text, err := os.ReadFile(setsDefinition)
	if err != nil {
		return err
	}
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &definition.Object); err != nil {
		return fmt.Errorf("%s: %w", setsDefinition, err)
	}
	_, err = f.dynamic.Resource(definitionResource).Create(ctx, definition, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return poll(ctx, func() (bool, error) {
		_, err := f.dynamic.Resource(setResource).List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// prepare creates the namespaces, with service accounts that may do everything in them, and the
// sources.
func (f *fleet) prepare(ctx context.Context) error {
	var namespaces []string
	for _, m := range f.members {
		if m.number%setsPerNamespace == 0 {
			namespaces = append(namespaces, m.namespace)
		}
	}
	if err := f.ground.makeNamespaces(ctx, namespaces); err != nil {
		return err
	}
	for _, name := range namespaces {
		if err := f.grant(ctx, name); err != nil {
			return err
		}
	}
	return f.each(ctx, func(ctx context.Context, m *member) error {
		source := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: m.source()},
			Data:       map[string]string{"manifests.yaml": m.manifests(false)},
		}
		_, err := f.ground.client.CoreV1().ConfigMaps(m.namespace).Create(ctx, source,
			metav1.CreateOptions{})
		return err
	})
}

// grant creates the service account deployer of a namespace.
func (f *fleet) grant(ctx context.Context, namespace string) error {
	named := metav1.ObjectMeta{Name: "deployer"}
	_, first := f.ground.client.CoreV1().ServiceAccounts(namespace).Create(ctx,
		&corev1.ServiceAccount{ObjectMeta: named}, metav1.CreateOptions{})
	_, second := f.ground.client.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: named,
		RoleRef: rbacv1.RoleRef{
			APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin",
		},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "deployer", Namespace: namespace}},
	}, metav1.CreateOptions{})
	return errors.Join(first, second)
}

// create creates the Sets.
func (f *fleet) create(ctx context.Context) error {
	return f.each(ctx, func(ctx context.Context, m *member) error {
		spec := map[string]any{
			"serviceAccountName": "deployer",
			"source": map[string]any{
				"configMaps": []any{map[string]any{"name": m.source()}},
			},
		}
		if m.app {
			spec["format"] = "app"
		}
		if m.reports {
			spec["drift"] = "Report"
		}
		set := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		set.SetAPIVersion(setResource.GroupVersion().String())
		set.SetKind("Set")
		set.SetName(m.name())
		_, err := f.dynamic.Resource(setResource).Namespace(m.namespace).Create(ctx, set,
			metav1.CreateOptions{})
		return err
	})
}

// each calls for every Set, many at once.
func (f *fleet) each(
	ctx context.Context, do func(ctx context.Context, m *member) error,
) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, m := range f.members {
		group.Go(func() error { return do(ctx, m) })
	}
	return group.Wait()
}

// edit writes the next edition of a source. In a bad one an object never becomes ready.
func (f *fleet) edit(ctx context.Context, m *member, bad bool) error {
	return f.patch(ctx, m.namespace, m.source(), map[string]string{
		"manifests.yaml": m.manifests(bad),
	})
}

// patch changes the data of a ConfigMap, as somebody who is no controller.
func (f *fleet) patch(
	ctx context.Context, namespace, name string, data map[string]string,
) error {
	body, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return err
	}
	_, err = f.ground.client.CoreV1().ConfigMaps(namespace).Patch(ctx, name,
		types.MergePatchType, body, metav1.PatchOptions{FieldManager: somebody})
	return err
}

// somebody is the field manager of what the bench changes.
const somebody = "somebody"

// manifests returns the present edition of a source: the watched ConfigMap, and other objects that
// are ready at once unless it is bad.
func (m *member) manifests(bad bool) string {
	object := func(version, kind, name string, more map[string]any) string {
		all := map[string]any{
			"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": name},
		}
		maps.Copy(all, more)
		text, err := yaml.Marshal(all)
		if err != nil {
			panic(err) // maps of texts
		}
		return "---\n" + string(text)
	}
	watched := metadataOf(m.watched())
	watched["labels"] = map[string]any{watchedLabel: "true"}
	text := object("v1", "ConfigMap", "", map[string]any{
		"metadata": watched, "data": map[string]any{"value": m.value()},
	})
	text += m.deployment(object, bad)
	for i := range objectsPerSet - 2 {
		name := fmt.Sprintf("object-%04d-%02d", m.number, i)
		switch {
		case i < 12:
			text += object("v1", "ConfigMap", name, map[string]any{
				"data": map[string]any{"key": "value", "long": "some text that a program reads"},
			})
		case i < 15:
			text += object("v1", "Secret", name, map[string]any{
				"data": map[string]any{"password": "bm90LW9uZQ=="},
			})
		case i < 17:
			text += object("v1", "ServiceAccount", name, nil)
		default:
			text += object("rbac.authorization.k8s.io/v1", "Role", name, map[string]any{
				"rules": []any{map[string]any{
					"apiGroups": []any{""}, "resources": []any{"configmaps"}, "verbs": []any{"get"},
				}},
			})
		}
	}
	return text
}

// metadataOf returns the metadata of an object.
func metadataOf(name string) map[string]any { return map[string]any{"name": name} }

// deployment returns the Deployment of a source, which has no pods, or one that no node takes.
func (m *member) deployment(
	object func(version, kind, name string, more map[string]any) string, bad bool,
) string {
	name := fmt.Sprintf("deployment-%04d", m.number)
	labels := map[string]any{"app": name}
	pod := map[string]any{
		"containers": []any{map[string]any{"name": "main", "image": "example/web:1"}},
	}
	replicas := 0
	if bad {
		replicas, pod["nodeSelector"] = 1, map[string]any{"disk": "none"}
	}
	return object("apps/v1", "Deployment", name, map[string]any{"spec": map[string]any{
		"replicas": replicas, "selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod},
	}})
}
