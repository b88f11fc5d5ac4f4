package artifact

import (
	"context"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/yaml"
)

// lockFile is the file of an imgpkg bundle that lists its images.
const lockFile = ".imgpkg/images.yml"

// idAnnotation is the annotation of an image in a lock file with its name in manifests.
const idAnnotation = "kbld.carvel.dev/id"

// imagesLock is the content of a lock file.
type imagesLock struct {
	Kind   string `json:"kind"`
	Images []struct {
		Image       string            `json:"image"`
		Annotations map[string]string `json:"annotations"`
	} `json:"images"`
}

// Images are the names of images in manifests, with the images that they stand for.
type Images map[string]string

// BundleImages returns the images of an imgpkg bundle; nil if the tree is none. If the repository
// of the bundle has all of them, as after 'imgpkg copy', they are those there; else they are the
// ones that the lock file names.
func (r *Repository) BundleImages(
	ctx context.Context, t Tree,
) (images Images, relocated bool, err error) {
	file, ok := t[lockFile]
	if !ok {
		return nil, false, nil
	}
	var lock imagesLock
	if err := yaml.Unmarshal(file.Data, &lock); err != nil || lock.Kind != "ImagesLock" {
		return nil, false, &ContentError{fmt.Errorf("%s: %s is no ImagesLock of an imgpkg bundle",
			r.Reference, lockFile)}
	}
	images, relocated = Images{}, len(lock.Images) > 0
	moved := make([]string, len(lock.Images))
	for i, entry := range lock.Images {
		name, sum, _ := strings.Cut(entry.Image, "@")
		d := digest.Digest(sum)
		if name == "" || d.Validate() != nil {
			return nil, false, &ContentError{fmt.Errorf("%s: %s names the image %q without a digest",
				r.Reference, lockFile, entry.Image)}
		}
		if relocated {
			if relocated, err = r.hasManifest(ctx, d); err != nil {
				return nil, false, err
			}
		}
		moved[i] = r.Registry + "/" + r.Repository + "@" + sum
	}
	for i, entry := range lock.Images {
		image := entry.Image
		if relocated {
			image = moved[i]
		}
		images[entry.Image] = image
		if id := entry.Annotations[idAnnotation]; id != "" {
			images[id] = image
		}
	}
	return images, relocated, nil
}

// hasManifest reports whether the repository has a manifest.
func (r *Repository) hasManifest(ctx context.Context, d digest.Digest) (bool, error) {
	_, err := r.remote.Resolve(ctx, d.String())
	if isNotFound(err) {
		return false, nil
	}
	return err == nil, r.explain(err)
}

// Rewrite replaces the images in the fields image of a value that holds JSON, at any depth, and
// returns how many there were.
func (m Images) Rewrite(value any) (count int) {
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			text, ok := field.(string)
			if image := m[text]; ok && key == "image" && image != "" && image != text {
				value[key] = image
				count++
				continue
			}
			count += m.Rewrite(field)
		}
	case []any:
		for _, item := range value {
			count += m.Rewrite(item)
		}
	}
	return count
}
