package adopt

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
)

// Annotations that say to packages and apps what a tool says in its own way.
const (
	keepOnRemoval = "cli-utils.sigs.k8s.io/on-remove" // with the value keep
	// Apps do not add their labels to pod templates and selectors of objects with these.
	ownTemplates = "kapp.k14s.io/disable-default-ownership-label-rules"
	ownSelectors = "kapp.k14s.io/disable-default-label-scoping-rules"
)

// Converted is a set in the form of a package or of an app.
type Converted struct {
	Objects []manifest.Object // each with the name of its file as its origin
	// Annotations are the keys of annotations that the conversion added.
	Annotations []string
	// NoLabels and NoAnnotations are the keys of the marks of the tool.
	NoLabels, NoAnnotations []string
}

// Convert returns the set in the form of a package or, with app, of an app.
func (s *Set) Convert(app bool) *Converted {
	c := &Converted{NoLabels: slices.Clone(s.Labels), NoAnnotations: slices.Clone(s.Annotations)}
	for _, o := range s.Owners {
		labels, annotations := owner.Keys(o.Kind)
		c.NoLabels = append(c.NoLabels, labels...)
		c.NoAnnotations = append(c.NoAnnotations, annotations...)
	}
	if app { // apps keep what was applied in an annotation of their own
		c.NoAnnotations = append(c.NoAnnotations, kubectlApplied)
	}
	strippedLabels := slices.Clone(c.NoLabels)
	taken := map[string]bool{}
	for _, obj := range s.Objects {
		c.NoLabels = append(c.NoLabels, obj.Labels...)
		converted := object.WithMetadata(obj.Manifest, func(metadata map[string]any) {
			strip(metadata, "labels", strippedLabels)
			strip(metadata, "annotations", append(c.NoAnnotations, kubectlApplied))
			delete(metadata, "creationTimestamp")
		}).DeepCopy()
		delete(converted.Object, "status")
		converted.SetNamespace(obj.Ref.Namespace)
		c.annotate(converted, app)
		c.Objects = append(c.Objects, manifest.Object{
			Unstructured: converted, Origin: manifest.Origin{Path: fileName(obj.Ref, taken)},
		})
	}
	c.NoLabels, c.NoAnnotations = distinct(c.NoLabels), distinct(c.NoAnnotations)
	c.Annotations = distinct(c.Annotations)
	return c
}

// strip removes keys from labels or annotations, and an empty map.
func strip(metadata map[string]any, field string, keys []string) {
	texts, ok := metadata[field].(map[string]any)
	if !ok {
		return
	}
	for _, key := range keys {
		delete(texts, key)
	}
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

// annotate adds annotations that keep the meaning of an object, and leave its pods unchanged.
func (c *Converted) annotate(obj *unstructured.Unstructured, app bool) {
	add := func(key, value string) {
		annotations := obj.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[key] = value
		obj.SetAnnotations(annotations)
		c.Annotations = append(c.Annotations, key)
	}
	if object.AnnotationsOf(obj).Get(helmKeep) == "keep" {
		add(keepOnRemoval, "keep")
	}
	if !app {
		return
	}
	switch obj.GetKind() {
	case "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job":
		add(ownTemplates, "")
		add(ownSelectors, "")
	case "CronJob":
		add(ownTemplates, "")
	case "Service", "PodDisruptionBudget":
		add(ownSelectors, "")
	}
}

// unsafeInNames matches what names of files do not have.
var unsafeInNames = regexp.MustCompile(`[^a-z0-9.-]+`)

// fileName returns the name of the file of an object that is not taken yet: its kind and name and,
// if there are several, its namespace and a number.
func fileName(ref object.Ref, taken map[string]bool) string {
	clean := func(parts ...string) string {
		return unsafeInNames.ReplaceAllString(strings.ToLower(strings.Join(parts, "-")), "-")
	}
	names := []string{clean(ref.Kind, ref.Name), clean(ref.Kind, ref.Namespace, ref.Name)}
	for i := 2; ; i++ {
		for _, name := range names {
			if file := name + ".yaml"; !taken[file] {
				taken[file] = true
				return file
			}
		}
		names = []string{clean(ref.Kind, ref.Namespace, ref.Name, fmt.Sprint(i))}
	}
}

// File is a file of a folder.
type File struct {
	Name   string
	Text   []byte
	Secret bool // nobody else may read it
}

// hooksFile is the name of the file with the hooks of a release, which is no manifest.
const hooksFile = "helm-hooks.yaml.txt"

// Files returns the files of the folder of a set: a manifest for each object, and the hooks of the
// tool in a file that is not applied.
func (s *Set) Files(c *Converted) ([]File, error) {
	var files []File
	for _, obj := range c.Objects {
		text, err := yaml.Marshal(obj.Object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", object.RefOf(obj.Unstructured), err)
		}
		files = append(files, File{
			Name: obj.Origin.Path, Text: text, Secret: obj.GetKind() == secretKind.Kind,
		})
	}
	if len(s.Hooks) == 0 {
		return files, nil
	}
	text := "# Hooks of " + s.Title + ". They are not applied: see docs/adopting.md.\n"
	seen := map[string]bool{}
	for _, hook := range s.Hooks {
		if !seen[hook.Text] {
			seen[hook.Text] = true
			text += "---\n# " + hook.Source + "\n" + strings.TrimSpace(hook.Text) + "\n"
		}
	}
	return append(files, File{Name: hooksFile, Text: []byte(text), Secret: true}), nil
}
