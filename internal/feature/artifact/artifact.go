// Package artifact keeps folders of manifests in registries as OCI artifacts.
//
// A Tree is the files of a folder or of an archive, in memory. Build makes an artifact of a tree:
// the same files and annotations make the same digest. A Repository fetches, pushes and lists
// artifacts; a Cache keeps what was fetched, by digest. Everything that comes from a registry is
// bounded and checked before a file is written: its digest, its size, and the paths in it. The
// package has no flags and prints nothing.
package artifact

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Type is the type of artifacts that Build makes.
const Type = "application/vnd.muster.package.v1"

// The annotations of artifacts that say where the files come from.
const (
	AnnotationCreated  = ocispec.AnnotationCreated
	AnnotationSource   = ocispec.AnnotationSource
	AnnotationRevision = ocispec.AnnotationRevision
	AnnotationVersion  = ocispec.AnnotationVersion
)

// Artifact is an artifact with its content.
type Artifact struct {
	Descriptor ocispec.Descriptor // of the manifest
	Manifest   []byte
	Layer      []byte
}

// Digest returns the digest of the artifact.
func (a *Artifact) Digest() digest.Digest { return a.Descriptor.Digest }

// Build returns the artifact of a tree. Its one layer is an image layer, which Flux, Argo CD and
// Config Sync read, too.
func Build(t Tree, annotations map[string]string) (*Artifact, error) {
	layer, err := t.archive()
	if err != nil {
		return nil, err
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	empty := ocispec.DescriptorEmptyJSON
	text, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		ArtifactType: Type, Annotations: annotations,
		Config: ocispec.Descriptor{
			MediaType: empty.MediaType, Digest: empty.Digest, Size: empty.Size,
		},
		Layers: []ocispec.Descriptor{descriptor(ocispec.MediaTypeImageLayerGzip, layer)},
	})
	if err != nil {
		return nil, fmt.Errorf("write the manifest of the artifact: %w", err)
	}
	return &Artifact{
		Descriptor: descriptor(ocispec.MediaTypeImageManifest, text), Manifest: text, Layer: layer,
	}, nil
}

// descriptor returns the descriptor of a content.
func descriptor(mediaType string, content []byte) ocispec.Descriptor {
	return ocispec.Descriptor{
		MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content)),
	}
}

// The media types of manifests and of Helm's charts that are not in the specification of images.
const (
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerList     = "application/vnd.docker.distribution.manifest.list.v2+json"
	helmChart      = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// ContentError reports content that cannot be used, however often it is fetched.
type ContentError struct{ err error }

func (e *ContentError) Error() string { return e.err.Error() }

// Unwrap returns what is wrong with the content.
func (e *ContentError) Unwrap() error { return e.err }

// layersOf returns the layers of a manifest. It returns an error unless all are archives, and have
// at most so many bytes.
func layersOf(d ocispec.Descriptor, text []byte, limit int64) ([]ocispec.Descriptor, error) {
	switch d.MediaType {
	case ocispec.MediaTypeImageManifest, dockerManifest:
	case ocispec.MediaTypeImageIndex, dockerList:
		return nil, fmt.Errorf("%s is an index of several images: name one of them by its digest",
			d.Digest)
	default:
		return nil, fmt.Errorf("%s is no artifact with manifests: its type is %q", d.Digest, d.MediaType)
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(text, &m); err != nil || m.SchemaVersion != 2 {
		return nil, fmt.Errorf("%s is no manifest of an artifact: the registry says that it is one, "+
			"and its content is something else", d.Digest)
	}
	if len(m.Layers) == 0 || len(m.Layers) > maxLayers {
		return nil, fmt.Errorf("%s has %d layers; an artifact with manifests has 1 to %d",
			d.Digest, len(m.Layers), maxLayers)
	}
	size := int64(0)
	for _, layer := range m.Layers {
		if err := checkLayer(d, layer); err != nil {
			return nil, err
		}
		if size += layer.Size; layer.Size > limit || size > limit {
			return nil, fmt.Errorf("%s: its layers %w", d.Digest, tooLargeError{limit})
		}
	}
	return m.Layers, nil
}

// checkLayer returns an error unless a layer is an archive of files.
func checkLayer(d, layer ocispec.Descriptor) error {
	if err := layer.Digest.Validate(); err != nil || layer.Size < 0 {
		return fmt.Errorf("%s names a layer by the digest %q, which is none", d.Digest, layer.Digest)
	}
	name, _, _ := strings.Cut(layer.MediaType, ";")
	switch {
	case name == helmChart:
		return fmt.Errorf("%s is a Helm chart, which has to be rendered: write the output of 'helm "+
			"template' to a folder, and push that", d.Digest)
	case strings.HasSuffix(name, "tar+gzip"), strings.HasSuffix(name, "tar.gzip"),
		strings.HasSuffix(name, ".tar"):
		return nil
	}
	return fmt.Errorf("%s has a layer of type %q, and only archives are read (tar or tar+gzip)",
		d.Digest, layer.MediaType)
}

// mediaTypeOf returns the type that a manifest says it has. Those of OCI may leave it out.
func mediaTypeOf(text []byte) string {
	var m struct {
		MediaType string `json:"mediaType"`
	}
	if json.Unmarshal(text, &m) != nil || m.MediaType == "" {
		return ocispec.MediaTypeImageManifest
	}
	return m.MediaType
}
