package registry

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// argoTypes are the types of layers that Argo CD allows by default.
var argoTypes = []string{
	"application/vnd.oci.image.layer.v1.tar+gzip",
	"application/vnd.cncf.helm.chart.content.v1.tar+gzip",
}

// readers unpack an artifact by the rules that other tools document, into a folder.
var readers = map[string]func(t *testing.T, image v1.Image, layers []v1.Layer, dir string){
	// The first layer is taken, whatever its type says, as a compressed archive. What is no file or
	// folder is left out.
	"Flux": func(t *testing.T, _ v1.Image, layers []v1.Layer, dir string) {
		content, err := layers[0].Compressed()
		check(t, err)
		extract(t, gunzip(t, content), dir)
	},
	// There is one layer, of an allowed type.
	"Argo CD": func(t *testing.T, image v1.Image, layers []v1.Layer, dir string) {
		manifest, err := image.Manifest()
		check(t, err)
		if len(manifest.Layers) != 1 ||
			!slices.Contains(argoTypes, string(manifest.Layers[0].MediaType)) {
			t.Fatalf("Argo CD does not take the layers %v", manifest.Layers)
		}
		content, err := layers[0].Compressed()
		check(t, err)
		extract(t, gunzip(t, content), dir)
	},
	// All layers of the image are extracted, in their order.
	"Config Sync": func(t *testing.T, _ v1.Image, layers []v1.Layer, dir string) {
		for _, layer := range layers {
			content, err := layer.Uncompressed()
			check(t, err)
			extract(t, content, dir)
		}
	},
}

// TestReaders pushes a folder, and unpacks the artifact by the rules of each tool and by muster:
// all get the same files.
func TestReaders(t *testing.T) {
	server, err := Start("", "")
	check(t, err)
	defer server.Close()
	bin, err := filepath.Abs(filepath.Join("..", "..", "bin", "muster"))
	check(t, err)
	work := t.TempDir()
	for file, text := range map[string]string{
		"shop/web.yaml": "web", "shop/base/db.yaml": "db", "shop/base/deep/er.yaml": "deeper",
		"shop/.krmignore": "skipped\n", "shop/skipped/x.yaml": "x", "shop/run.sh": "#!/bin/sh",
	} {
		check(t, os.MkdirAll(filepath.Dir(filepath.Join(work, file)), 0o755))
		check(t, os.WriteFile(filepath.Join(work, file), []byte(text), 0o644))
	}
	check(t, os.Chmod(filepath.Join(work, "shop/run.sh"), 0o755))
	reference := server.Address + "/team/shop:1"
	for _, args := range [][]string{
		{"push", "shop", "oci://" + reference}, {"pull", "oci://" + reference, "pulled"},
	} {
		cmd := exec.Command(bin, args...)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "HOME="+work, "XDG_CACHE_HOME="+filepath.Join(work, "cache"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	want := files(t, filepath.Join(work, "pulled"))
	if len(want) != 5 || want["web.yaml"] != "644 web" || want["run.sh"] != "755 #!/bin/sh" {
		t.Fatalf("muster has unpacked %v", want)
	}
	parsed, err := name.ParseReference(reference)
	check(t, err)
	for tool, read := range readers {
		image, err := remote.Image(parsed)
		check(t, err)
		layers, err := image.Layers()
		check(t, err)
		dir := t.TempDir()
		read(t, image, layers, dir)
		if diff := cmp.Diff(want, files(t, dir)); diff != "" {
			t.Errorf("%s (-muster +%s):\n%s", tool, tool, diff)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func gunzip(t *testing.T, content io.Reader) io.Reader {
	t.Helper()
	unpacked, err := gzip.NewReader(content)
	check(t, err)
	return unpacked
}

// extract writes the files of an archive.
func extract(t *testing.T, archive io.Reader, dir string) {
	t.Helper()
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		check(t, err)
		target := filepath.Join(dir, filepath.FromSlash(path.Clean(h.Name)))
		if !strings.HasPrefix(target, dir+string(filepath.Separator)) {
			t.Fatalf("%s leaves the folder", h.Name)
		}
		switch h.Typeflag {
		case tar.TypeDir:
			check(t, os.MkdirAll(target, 0o755))
		case tar.TypeReg:
			text, err := io.ReadAll(r)
			check(t, err)
			check(t, os.MkdirAll(filepath.Dir(target), 0o755))
			check(t, os.WriteFile(target, text, h.FileInfo().Mode().Perm()))
		default:
			t.Fatalf("%s has the type %c", h.Name, h.Typeflag)
		}
	}
}

// files returns the permissions and contents of all files in a folder.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	check(t, filepath.Walk(dir, func(name string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		if info.Mode()&0o111 != 0 {
			found[filepath.ToSlash(rel)] = "755 " + string(text)
		} else {
			found[filepath.ToSlash(rel)] = "644 " + string(text)
		}
		return err
	}))
	return found
}
