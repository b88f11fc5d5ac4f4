package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/local/webhook"
)

// released is a set of manifests that another project releases, as in testdata/released/sets.yaml.
type released struct {
	Name       string      `json:"name"`
	Repository string      `json:"repository"`
	Tags       [2]string   `json:"tags"`
	Files      []string    `json:"files"`
	Folders    []string    `json:"folders"`
	Kustomize  []string    `json:"kustomize"`
	Namespaces []string    `json:"namespaces"`
	Without    []left      `json:"without"`
	Flags      []flagged   `json:"flags"`
	Deviations []deviation `json:"deviations"`
}

// flagged is a flag that a set needs.
type flagged struct {
	Flag string `json:"flag"`
	Why  string `json:"why"`
}

// left is a prefix of the keys of annotations that are left out.
type left struct {
	Annotations string `json:"annotations"`
	Why         string `json:"why"`
}

// releasedSets reads the table of sets.
func releasedSets(t *testing.T) []*released {
	t.Helper()
	text, err := os.ReadFile("testdata/released/sets.yaml")
	check(t, err)
	var sets []*released
	check(t, yaml.UnmarshalStrict(text, &sets))
	return sets
}

// read returns the manifests of a release, and writes the files of its tag below a folder.
// Webhooks are those of a server, since no traffic reaches the pods of a plane.
func (s *released) read(t *testing.T, tag, dir string, hooks *webhook.Server) []byte {
	t.Helper()
	s.extract(t, tag, dir)
	var text bytes.Buffer
	for _, name := range s.Namespaces {
		fmt.Fprintf(&text, "---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s\n", name)
	}
	for _, pattern := range s.Files {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		check(t, err)
		if len(names) == 0 {
			t.Fatalf("%s has no file %s in %s", s.Repository, pattern, tag)
		}
		for _, name := range names {
			content, err := os.ReadFile(name)
			check(t, err)
			s.add(t, &text, content, hooks)
		}
	}
	for _, folder := range s.Kustomize {
		content, err := exec.Command("kubectl", "kustomize", filepath.Join(dir, folder)).Output()
		if exited := (*exec.ExitError)(nil); errors.As(err, &exited) {
			t.Fatalf("kubectl kustomize %s: %s", folder, exited.Stderr)
		}
		check(t, err)
		s.add(t, &text, content, hooks)
	}
	return text.Bytes()
}

// extract fetches a tag, and writes the files of the folders that have manifests.
func (s *released) extract(t *testing.T, tag, dir string) {
	t.Helper()
	var folders []string
	for _, name := range slices.Concat(s.Files, s.Folders, s.Kustomize) {
		first, _, _ := strings.Cut(name, "/")
		if !slices.Contains(folders, first) {
			folders = append(folders, first)
		}
	}
	ref, index := "refs/tags/"+tag, filepath.Join(t.TempDir(), "index")
	repository := filepath.Join(os.Getenv(repositoriesEnv), s.Repository)
	if url := os.Getenv(repositoriesEnv); strings.Contains(url, "://") {
		repository = t.TempDir()
		git(t, index, "init", "--quiet", "--bare", repository)
		git(t, index, "--git-dir", repository, "fetch", "--quiet", "--depth=1",
			strings.TrimSuffix(url, "/")+"/"+s.Repository, ref+":"+ref)
	}
	args := []string{"--git-dir", repository, "--work-tree", dir, "checkout", "--quiet", ref, "--"}
	git(t, index, append(args, folders...)...)
}

// git runs git with an index file of its own, since repositories are only read.
func git(t *testing.T, index string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_INDEX_FILE="+index)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// add adds documents to manifests. Those that are not changed keep their text.
func (s *released) add(t *testing.T, text *bytes.Buffer, content []byte, hooks *webhook.Server) {
	t.Helper()
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		check(t, err)
		var obj unstructured.Unstructured
		check(t, yaml.Unmarshal(document, &obj.Object))
		if len(obj.Object) == 0 {
			continue // comments
		}
		if strings.HasSuffix(obj.GetKind(), "WebhookConfiguration") {
			redirect(&obj, hooks)
			document = []byte(asYAML(&obj))
		}
		if s.strip(&obj) {
			document = []byte(asYAML(&obj))
		}
		text.WriteString("---\n")
		text.Write(bytes.TrimPrefix(document, []byte("---\n")))
		text.WriteString("\n")
	}
}

// strip removes annotations from an object, and reports whether it had any of them.
func (s *released) strip(obj *unstructured.Unstructured) bool {
	annotations := obj.GetAnnotations()
	had := len(annotations)
	maps.DeleteFunc(annotations, func(key, _ string) bool {
		return slices.ContainsFunc(s.Without, func(l left) bool {
			return strings.HasPrefix(key, l.Annotations)
		})
	})
	if len(annotations) == had {
		return false
	}
	obj.SetAnnotations(annotations)
	return true
}

// redirect lets a server answer the webhooks of a configuration.
func redirect(obj *unstructured.Unstructured, hooks *webhook.Server) {
	webhooks, _, _ := unstructured.NestedSlice(obj.Object, "webhooks")
	for i := range webhooks {
		if hook, ok := webhooks[i].(map[string]any); ok {
			hook["clientConfig"] = map[string]any{
				"url": hooks.URL() + "/allow", "caBundle": hooks.Bundle(),
			}
		}
	}
	if len(webhooks) > 0 {
		obj.Object["webhooks"] = webhooks
	}
}
