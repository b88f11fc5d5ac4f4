//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// Media types of the parts of an image.
const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar"
)

// blob is a part of an image.
type blob struct {
	mediaType string
	content   []byte
}

func (b blob) digest() string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b.content)) }

// descriptor returns how other parts of the image name this one.
func (b blob) descriptor() map[string]any {
	return map[string]any{"mediaType": b.mediaType, "digest": b.digest(), "size": len(b.content)}
}

// images are the parts of the images by their digests, and the digests of the manifests.
type images struct {
	parts       map[string]blob
	any, paused string
}

// makeImages makes an image of a program for all names, and one that holds the namespaces of pods.
func makeImages(program string) (*images, error) {
	binary, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	content, err := layer(binary)
	if err != nil {
		return nil, err
	}
	out := &images{parts: map[string]blob{}}
	for command, digest := range map[string]*string{"serve": &out.any, "pause": &out.paused} {
		files := blob{layerType, content}
		config := blob{configType, encode(map[string]any{
			"os": "linux", "architecture": runtime.GOARCH,
			"config": map[string]any{"Entrypoint": []string{"/app"}, "Cmd": []string{command},
				"Env": []string{"PATH=/"}},
			"rootfs": map[string]any{"type": "layers", "diff_ids": []string{files.digest()}},
		})}
		manifest := blob{manifestType, encode(map[string]any{
			"schemaVersion": 2, "mediaType": manifestType, "config": config.descriptor(),
			"layers": []any{files.descriptor()},
		})}
		for _, part := range []blob{files, config, manifest} {
			out.parts[part.digest()] = part
		}
		*digest = manifest.digest()
	}
	return out, nil
}

// layer returns the files of the image as an archive.
func layer(binary []byte) ([]byte, error) {
	const users = "root:x:0:0:root:/:/app\nnobody:x:65534:65534:nobody:/:/app\n"
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, folder := range []string{"dev/", "etc/", "proc/", "sys/", "tmp/"} {
		err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder, Mode: 0o1777})
		if err != nil {
			return nil, err
		}
	}
	for _, file := range []struct {
		name    string
		mode    int64
		content []byte
	}{{"etc/passwd", 0o644, []byte(users)}, {"app", 0o755, binary}} {
		header := &tar.Header{Name: file.name, Mode: file.mode, Size: int64(len(file.content))}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(file.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// encode returns JSON of a value that has one.
func encode(value any) []byte {
	out, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return out
}

// serveImages starts the registry, which runs as long as the process.
func serveImages(address, program string) error {
	all, err := makeImages(program)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	// Ends with the process.
	go func() {
		fmt.Fprintln(os.Stderr, "muster-node:", http.Serve(listener, all))
		os.Exit(1)
	}()
	return nil
}

// imagePath is the path of a part of an image: /v2/NAME/manifests/REFERENCE or
// /v2/NAME/blobs/DIGEST.
var imagePath = regexp.MustCompile(`^/v2/(.+)/(manifests|blobs)/([^/]+)$`)

// ServeHTTP answers for every name, except for those with the word missing, and for those with the
// word secret, which need credentials that nobody has.
func (i *images) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v2/" {
		return
	}
	fields := imagePath.FindStringSubmatch(r.URL.Path)
	if fields == nil {
		http.NotFound(w, r)
		return
	}
	name, reference := fields[1], fields[3]
	if strings.Contains(name, "secret") {
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
		return
	}
	if fields[2] == "manifests" && !strings.Contains(reference, ":") {
		reference = i.any
		if strings.HasSuffix(name, "pause") {
			reference = i.paused
		}
	}
	part, found := i.parts[reference]
	if !found || strings.Contains(name+fields[3], "missing") {
		refuse(w, http.StatusNotFound, "MANIFEST_UNKNOWN", "manifest unknown")
		return
	}
	w.Header().Set("Content-Type", part.mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(part.content)))
	w.Header().Set("Docker-Content-Digest", reference)
	if r.Method != http.MethodHead {
		_, _ = w.Write(part.content) // the client may be gone
	}
}

// refuse answers with an error of registries.
func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client may be gone
		"errors": []any{map[string]any{"code": code, "message": message}}})
}
