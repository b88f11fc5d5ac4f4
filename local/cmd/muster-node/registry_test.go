//go:build linux

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Every name has an image, unless it says otherwise.
func TestRegistry(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("program"), 0o700); err != nil {
		t.Fatal(err)
	}
	all, err := makeImages(program)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(all)
	defer server.Close()
	for image, want := range map[string]string{
		"library/nginx:1.27": "serve",
		"team/deep/er/web:1": "serve",
		"pause:1":            "pause",
		"team/missing:1":     "MANIFEST_UNKNOWN",
		"team/web:missing":   "MANIFEST_UNKNOWN",
		"team/secret:1":      "UNAUTHORIZED",
	} {
		t.Run(image, func(t *testing.T) {
			reference, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/" + image)
			if err != nil {
				t.Fatal(err)
			}
			got, err := remote.Image(reference)
			if err != nil {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %s", err, want)
				}
				return
			}
			layers, err := got.Layers()
			if err != nil || len(layers) != 1 {
				t.Fatalf("%d layers, %v", len(layers), err)
			}
			content, err := layers[0].Compressed()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, content); err != nil { // the digest is verified
				t.Error(err)
			}
			config, err := got.ConfigFile()
			if err != nil || strings.Join(config.Config.Cmd, " ") != want {
				t.Errorf("its command is %v, %v", config.Config.Cmd, err)
			}
		})
	}
}

func TestRegistryRefusesOtherPaths(t *testing.T) {
	for path, want := range map[string]int{
		"/v2/": http.StatusOK, "/": http.StatusNotFound, "/v2/web/tags/list": http.StatusNotFound,
		"/v2/web/blobs/sha256:00": http.StatusNotFound,
	} {
		answer := httptest.NewRecorder()
		(&images{}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		if body, _ := io.ReadAll(answer.Body); answer.Code != want {
			t.Errorf("%s: %d %s, want %d", path, answer.Code, body, want)
		}
	}
}
