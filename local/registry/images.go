package registry

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// archiveOf returns an archive with entries, whose contents follow their headers.
func archiveOf(entries ...any) []byte {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	w := tar.NewWriter(compressed)
	for _, entry := range entries {
		var err error
		switch entry := entry.(type) {
		case *tar.Header:
			err = w.WriteHeader(entry)
		case string:
			_, err = io.WriteString(w, entry)
		}
		if err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	if err := compressed.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// file returns the entry of a file.
func file(name, text string) []any {
	return []any{&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}, text}
}

// FolderArchive returns a compressed archive with the files of a folder.
func FolderArchive(dir string) []byte {
	var entries []any
	err := filepath.Walk(dir, func(name string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		text, err := os.ReadFile(name)
		entries = append(entries, file(filepath.ToSlash(rel), string(text))...)
		return err
	})
	if err != nil {
		panic(err)
	}
	return archiveOf(entries...)
}

// zeros returns an archive with a file of 10 GB, all zeros. Its compressed parts are the same.
func zeros() []byte {
	const part, parts = 10 << 20, 1000
	var head, zero bytes.Buffer
	compressed := gzip.NewWriter(&head)
	w := tar.NewWriter(compressed)
	h := &tar.Header{Name: "zeros.yaml", Mode: 0o644, Size: part * parts}
	if err := w.WriteHeader(h); err != nil {
		panic(err)
	}
	_ = w.Flush() // the content is missing, and follows
	compressed.Close()
	compressed = gzip.NewWriter(&zero)
	_, _ = compressed.Write(make([]byte, part))
	compressed.Close()
	return append(head.Bytes(), bytes.Repeat(zero.Bytes(), parts)...)
}

// Many returns a compressed archive with files of 300 MB in all, each of which is small: nothing
// but their sum says that they are too many.
func Many() []byte {
	text := strings.Repeat("\x00", 1<<20)
	var entries []any
	for i := range 300 {
		entries = append(entries, file(fmt.Sprintf("%d.yaml", i), text)...)
	}
	return archiveOf(entries...)
}

// announced returns a manifest with a layer of 300 MB, which the registry does not have.
func announced() []byte {
	return []byte(`{"schemaVersion":2,"mediaType":"` + string(types.OCIManifestSchema1) +
		`","layers":[{"mediaType":"` + string(types.OCILayer) + `","size":314572800,"digest":"sha256:` +
		strings.Repeat("0", 64) + `"}]}`)
}

// imageOf returns an image with layers.
func imageOf(mediaType types.MediaType, layers ...[]byte) v1.Image {
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	for _, layer := range layers {
		var err error
		image, err = mutate.Append(image, mutate.Addendum{Layer: static.NewLayer(layer, mediaType)})
		if err != nil {
			panic(err)
		}
	}
	return image
}

// images are artifacts of other tools, and such as nobody should push, by their names. Each gets
// the folder that follows its name, if any.
var images = map[string]func(dir string) v1.Image{
	"image": func(dir string) v1.Image { return imageOf(types.OCILayer, FolderArchive(dir)) },
	"flux": func(dir string) v1.Image {
		image := imageOf("application/vnd.cncf.flux.content.v1.tar+gzip", FolderArchive(dir))
		return mutate.ConfigMediaType(image, "application/vnd.cncf.flux.config.v1+json")
	},
	"layers": func(dir string) v1.Image {
		more := file("added.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: added}\n")
		return imageOf(types.OCILayer, FolderArchive(dir), archiveOf(more...))
	},
	"bundle": func(dir string) v1.Image {
		digest, err := empty.Image.Digest()
		if err != nil {
			panic(err)
		}
		lock := "apiVersion: imgpkg.carvel.dev/v1alpha1\nkind: ImagesLock\nimages:\n- image: " +
			"example.com/nginx@" + digest.String() + "\n  annotations: {kbld.carvel.dev/id: nginx:1.29}\n"
		return imageOf(types.OCILayer, FolderArchive(dir), archiveOf(file(".imgpkg/images.yml", lock)...))
	},
	"chart": func(dir string) v1.Image {
		return imageOf("application/vnd.cncf.helm.chart.content.v1.tar+gzip", FolderArchive(dir))
	},
	"link": func(string) v1.Image {
		return imageOf(types.OCILayer, archiveOf(&tar.Header{
			Name: "web.yaml", Typeflag: tar.TypeSymlink, Linkname: "../../../etc/passwd"}))
	},
	"outside": func(string) v1.Image {
		return imageOf(types.OCILayer, archiveOf(file("../outside.yaml", "x")...))
	},
	"many":    func(string) v1.Image { return imageOf(types.OCILayer, Many()) },
	"zeros":   func(string) v1.Image { return imageOf(types.OCILayer, zeros()) },
	"damaged": func(string) v1.Image { return imageOf(types.OCILayer, []byte("\x1f\x8bnothing")) },
	"device": func(string) v1.Image {
		return imageOf(types.OCILayer, archiveOf(&tar.Header{Name: "null", Typeflag: tar.TypeChar}))
	},
}

// push pushes an image with requests of its own, so that nothing checks what it holds.
func (s *Server) push(name string, image v1.Image) error {
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	for _, layer := range layers {
		content, err := layer.Compressed()
		if err != nil {
			return err
		}
		text, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		if err := s.upload(repository(name), text); err != nil {
			return err
		}
	}
	config, err := image.RawConfigFile()
	if err != nil {
		return err
	}
	if err := s.upload(repository(name), config); err != nil {
		return err
	}
	manifest, err := image.RawManifest()
	if err != nil {
		return err
	}
	mediaType, err := image.MediaType()
	if err != nil {
		return err
	}
	return s.put(name, string(mediaType), manifest)
}

// repository returns the repository of a name with a tag.
func repository(name string) string {
	repository, _ := splitName(name)
	return repository
}

// splitName returns the repository and the tag of a name.
func splitName(name string) (repository, tag string) {
	repository, tag, _ = strings.Cut(name, ":")
	return repository, tag
}

// upload uploads a content.
func (s *Server) upload(repository string, text []byte) error {
	hash, _, err := v1.SHA256(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return s.send(http.MethodPost, "/v2/"+repository+"/blobs/uploads/?digest="+hash.String(),
		"application/octet-stream", text)
}

// put uploads a manifest.
func (s *Server) put(name, mediaType string, text []byte) error {
	repository, tag := splitName(name)
	return s.send(http.MethodPut, "/v2/"+repository+"/manifests/"+tag, mediaType, text)
}

// send sends a request with the credentials of the registry.
func (s *Server) send(method, path, mediaType string, text []byte) error {
	req, err := http.NewRequest(method, s.URL+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", mediaType)
	req.SetBasicAuth("ann", s.password)
	answer, err := s.Client().Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusBadRequest {
		body, _ := io.ReadAll(answer.Body)
		return fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, body)
	}
	return nil
}
