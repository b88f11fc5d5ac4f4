package adopt

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
)

// KeepOnRemoval is the annotation by which packages and apps leave an object that they no longer
// describe in the cluster, with the value keep.
const KeepOnRemoval = "cli-utils.sigs.k8s.io/on-remove"

// Marks are what an adoption changes of objects, beside the marks of the new set.
type Marks struct {
	Annotations []string // keys of annotations that manifests get, with the values of the manifests
	// NoLabels and NoAnnotations are the keys of the marks of the tool, which are removed.
	NoLabels, NoAnnotations []string
}

// Marks returns what an adoption changes of the objects of the set, which also lose the annotations
// drops.
func (s *Set) Marks(drops ...string) Marks {
	m := Marks{
		Annotations: []string{KeepOnRemoval}, NoLabels: slices.Clone(s.Labels),
		NoAnnotations: slices.Clone(s.Annotations),
	}
	for _, o := range s.Owners {
		labels, annotations := owner.Keys(o.Kind)
		m.NoLabels = append(m.NoLabels, labels...)
		m.NoAnnotations = append(m.NoAnnotations, annotations...)
	}
	for _, obj := range s.Objects {
		m.NoLabels = append(m.NoLabels, obj.Labels...)
	}
	m.NoAnnotations = append(m.NoAnnotations, drops...)
	m.NoLabels, m.NoAnnotations = distinct(m.NoLabels), distinct(m.NoAnnotations)
	return m
}

// Manifests returns the manifests of the objects as those of a package or an app: without marks of
// the tool, and with an annotation for what the tool never deletes.
func (s *Set) Manifests() []*unstructured.Unstructured {
	marks := s.Marks(kubectlApplied)
	manifests := make([]*unstructured.Unstructured, len(s.Objects))
	for i, obj := range s.Objects {
		labels := slices.DeleteFunc(slices.Clone(marks.NoLabels), func(key string) bool {
			return key == helmManagedBy // a manifest that has it keeps it
		})
		m := object.WithMetadata(obj.Manifest, func(metadata map[string]any) {
			strip(metadata, "labels", labels)
			strip(metadata, "annotations", append(marks.NoAnnotations, kubectlApplied))
			delete(metadata, "creationTimestamp")
		}).DeepCopy()
		delete(m.Object, "status")
		if obj.Ref.Namespace != "" {
			m.SetNamespace(obj.Ref.Namespace)
		}
		if isKept(m) {
			keep(m)
		}
		manifests[i] = m
	}
	return manifests
}

// keepMarks are the annotations by which tools do not delete an object, and for Flux also labels.
var keepMarks = []struct{ key, value string }{
	{helmKeep, "keep"},
	{"kustomize.toolkit.fluxcd.io/prune", "disabled"},
	{"kustomize.toolkit.fluxcd.io/reconcile", "disabled"},
	{"kustomize.toolkit.fluxcd.io/ssa", "Ignore"},
	{argoSyncOptions, "Prune=false"},
	{argoSyncOptions, "Delete=false"},
}

// argoSyncOptions is an annotation of Argo CD with a list of options.
const argoSyncOptions = "argocd.argoproj.io/sync-options"

// isKept reports whether an object has a mark by which its tool does not delete it.
func isKept(obj *unstructured.Unstructured) bool {
	labels, annotations := object.LabelsOf(obj), object.AnnotationsOf(obj)
	for _, mark := range keepMarks {
		values := strings.Split(annotations.Get(mark.key), ",")
		for _, value := range append(values, labels.Get(mark.key)) {
			if strings.EqualFold(strings.TrimSpace(value), mark.value) {
				return true
			}
		}
	}
	return false
}

// keep lets packages and apps keep an object that they no longer describe.
func keep(manifest *unstructured.Unstructured) {
	annotations := manifest.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[KeepOnRemoval] = "keep"
	manifest.SetAnnotations(annotations)
}

// ManifestsByRef returns what Manifests returns by object, as far as there are manifests: those of
// an adoption that is continued may be missing.
func (s *Set) ManifestsByRef() map[object.Ref]*unstructured.Unstructured {
	known := *s
	known.Objects = slices.DeleteFunc(slices.Clone(s.Objects), func(obj Object) bool {
		return obj.Manifest == nil
	})
	manifests := map[object.Ref]*unstructured.Unstructured{}
	for i, m := range known.Manifests() {
		manifests[known.Objects[i].Ref] = m
	}
	return manifests
}

// Recall adds the manifests and the hooks of a set that was read again: what is stored of a set has
// none.
func (s *Set) Recall(now *Set) {
	if now == nil {
		return
	}
	s.Hooks = now.Hooks
	for i, obj := range s.Objects {
		for _, found := range now.Objects {
			if found.Ref == obj.Ref {
				s.Objects[i].Manifest = found.Manifest
			}
		}
	}
}

// strip removes keys from labels or annotations, and an empty map.
func strip(metadata map[string]any, field string, keys []string) {
	texts, ok := metadata[field].(map[string]any)
	if !ok {
		return
	}
	texts = maps.Clone(texts)
	for _, key := range keys {
		delete(texts, key)
	}
	metadata[field] = texts
	if len(texts) == 0 {
		delete(metadata, field)
	}
}

// distinct returns sorted texts, each once.
func distinct(texts []string) []string {
	set := map[string]bool{}
	for _, text := range texts {
		set[text] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// HookText returns the manifests of the hooks as a file that is not applied; empty if no hook has
// one.
func (s *Set) HookText() string {
	hooks := slices.DeleteFunc(slices.Clone(s.Hooks), func(h Hook) bool { return h.Text == "" })
	if len(hooks) == 0 {
		return ""
	}
	text := "# Hooks of " + s.Title + ". They are not applied: see docs/guides/adopting.md.\n"
	seen := map[string]bool{}
	for _, hook := range hooks {
		if !seen[hook.Text] {
			seen[hook.Text] = true
			text += "---\n# " + hook.Source + "\n" + strings.TrimSpace(hook.Text) + "\n"
		}
	}
	return text
}
