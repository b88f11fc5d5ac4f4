package packages

import (
	"context"
	"encoding/json"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
)

// Stdin is the argument that stands for the standard input.
const Stdin = "-"

// streamName is the name of the standard input in errors.
const streamName = "stdin"

// readStream reads a package from a stream. Its inventory is a ResourceGroup, a ConfigMap of an
// older tool or the section of a Kptfile. Local configuration and the configuration of functions
// are left out, as for folders. The error is that of an ended context.
func readStream(ctx context.Context, in Input) (*contents, error) {
	var files []*unstructured.Unstructured
	omit := func(obj map[string]any) bool {
		u := &unstructured.Unstructured{Object: obj}
		if u.GroupVersionKind().GroupKind() == inventory.KptfileKind.GroupKind() {
			files = append(files, u)
			return true
		}
		return skipLocal(obj)
	}
	objects, err := manifest.Read(ctx, in.Stream, streamName,
		manifest.Options{Omit: omit, Unnamed: in.unnamed(), Warn: in.warn, Foreign: in.foreign(),
			KeepServerMetadata: in.AsKpt})
	if ctx.Err() != nil {
		return nil, err
	}
	c := &contents{problems: err}
	c.name, c.remedy = "the stream", "pass the file of the inventory along, resourcegroup.yaml as "+
		"a rule"
	root := &inventory.Kptfile{}
	for _, file := range files {
		if parsed := c.kptfile(file); filePath(file) == inventory.KptfileName {
			root = parsed
		}
	}
	for _, obj := range objects {
		where := filePath(obj.Unstructured)
		if where != "" {
			obj.Origin = manifest.Origin{Path: where}
		}
		if !root.Configures(where) {
			c.add(obj, func() bool { return false })
		}
	}
	return c, nil
}

// kptfile adds a Kptfile. One of another version is ignored: it may belong to a subpackage.
func (c *contents) kptfile(doc *unstructured.Unstructured) *inventory.Kptfile {
	if doc.GroupVersionKind() != inventory.KptfileKind {
		return &inventory.Kptfile{}
	}
	where := filePath(doc)
	if where == "" {
		where = streamName + ": " + inventory.KptfileName + " " + doc.GetName()
	}
	text, err := json.Marshal(doc.Object)
	if err != nil {
		c.addError(err)
		return &inventory.Kptfile{}
	}
	file, err := inventory.ParseKptfile(text, where)
	c.addError(err)
	c.addKptfile(file, where)
	return file
}

// filePath returns the file, with slashes, that a tool recorded on an object.
func filePath(obj *unstructured.Unstructured) string {
	for _, key := range []string{PathKey, LegacyPathKey} {
		if file := obj.GetAnnotations()[key]; file != "" {
			return path.Clean(file)
		}
	}
	return ""
}

// removeToolAnnotations removes the annotations of tools that work on files.
func removeToolAnnotations(obj manifest.Object) {
	annotations := obj.GetAnnotations()
	for key := range annotations {
		if key == LegacyPathKey || key == legacyIndexKey || strings.HasPrefix(key, internalPrefix) {
			unstructured.RemoveNestedField(obj.Object, "metadata", "annotations", key)
		}
	}
	if len(annotations) > 0 && len(obj.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(obj.Object, "metadata", "annotations")
	}
}

// skipLocal reports whether to leave out an object, which may be any YAML, as local configuration.
// Inventories are never left out.
func skipLocal(obj map[string]any) bool { return isLocal(obj) && !isInventoryObject(obj) }

// The list of the images of an imgpkg bundle, which is no object of a cluster.
const imagesLockVersion, imagesLockKind = "imgpkg.carvel.dev/v1alpha1", "ImagesLock"

// isLocal reports whether an object is marked as local configuration, or is the list of images of
// an imgpkg bundle. A true without quotes counts.
func isLocal(obj map[string]any) bool {
	if obj["apiVersion"] == imagesLockVersion && obj["kind"] == imagesLockKind {
		return true
	}
	metadata, _ := obj["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	switch value := annotations[localConfigKey].(type) {
	case string:
		return value != "false"
	case bool:
		return value
	default:
		return false
	}
}
