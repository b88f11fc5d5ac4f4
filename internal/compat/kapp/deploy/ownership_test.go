package deploy

import (
	"fmt"
	"strings"
	"testing"
)

// marked returns a ConfigMap with the mark of another owner.
func marked(name, metadata string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, %s}}", name, metadata)
}

const (
	ofPackage = "annotations: {config.k8s.io/owning-inventory: id-1}"
	ofHelm    = "annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: shop}"
	ofFlux    = "labels: {kustomize.toolkit.fluxcd.io/name: apps, " +
		"kustomize.toolkit.fluxcd.io/namespace: flux-system}"
	ofArgo     = "annotations: {'argocd.argoproj.io/tracking-id': 'web:/ConfigMap:demo/d'}"
	ofApplySet = "labels: {applyset.kubernetes.io/part-of: applyset-x-v1}"
)

// foreignObjects puts objects of others into the cluster, and returns inputs for the same objects.
func (w *world) foreignObjects() (inputs []string) {
	for i, mark := range []string{ofPackage, ofHelm, ofFlux, ofArgo, ofApplySet} {
		name := string(rune('a' + i))
		w.put(marked(name, mark))
		inputs = append(inputs, configMap(name, "1"))
	}
	return inputs
}

// TestOtherOwners: a deployment takes the objects of owners that are no apps, and notes whose they
// were.
func TestOtherOwners(t *testing.T) {
	w := newWorld(t)
	inputs := w.foreignObjects()
	var notes []string
	w.Notice = func(text string) { notes = append(notes, text) }
	if _, err := w.Deploy(t.Context(), w.request(inputs...)); err != nil {
		t.Fatal(err)
	}
	if len(notes) != len(inputs) || !strings.HasSuffix(notes[1],
		`belongs to Helm release "web" in namespace shop; this takes it over`) {
		t.Errorf("notes: %q", notes)
	}
}

// An app adopts the objects of the named apps alone, with and without the permission to adopt those
// of all apps.
func TestAdoptFrom(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b"} {
		request := w.request(configMap(name, "1"))
		request.App.Name = "app-" + name
		if _, err := w.Deploy(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	const line = "- Resource 'configmap/%s (v1) namespace: demo' is already associated with a " +
		"different app 'app-%s' namespace: demo"
	ofA, ofB := fmt.Sprintf(line, "a", "a"), fmt.Sprintf(line, "b", "b")
	for _, override := range []bool{false, true} {
		request := w.request(configMap("a", "2"), configMap("b", "2"))
		request.App.Name, request.OverrideOwnership = "third", override
		request.AdoptFrom = []string{"app-a"}
		_, err := w.Deploy(t.Context(), request)
		if err == nil || strings.Contains(err.Error(), ofA) || !strings.Contains(err.Error(), ofB) {
			t.Errorf("override %t: got %v", override, err)
		}
	}
	request := w.request(configMap("a", "2"), configMap("b", "2"))
	request.App.Name, request.AdoptFrom = "third", []string{"app-a", "app-b"}
	if _, err := w.Deploy(t.Context(), request); err != nil {
		t.Error(err)
	}
}
