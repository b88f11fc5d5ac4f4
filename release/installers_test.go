package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// krewPlugin has the fields of a plugin manifest of krew that a release uses.
type krewPlugin struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		Version, Homepage, ShortDescription, Description string
		Platforms                                        []krewPlatform
	}
}

// krewPlatform is an archive in a plugin manifest.
type krewPlatform struct {
	Selector         struct{ MatchLabels map[string]string }
	URI, SHA256, Bin string
}

// released returns a release in a folder whose archives hold small files, and its checksums.
func released(t *testing.T) (release, map[string]string) {
	t.Helper()
	r, _ := of("https://example.com/v1.2.3")
	r.out = t.TempDir()
	for _, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "/")
		name := "muster"
		if system == "windows" {
			name = "muster.exe"
		}
		files := []file{
			{name: "LICENSE", content: []byte("license"), mode: 0o644},
			{name: name, content: []byte(platform), mode: 0o755},
		}
		if err := r.writeArchive(files, system, arch); err != nil {
			t.Fatal(err)
		}
	}
	sums, err := sumsOf(r.out)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.writeManifests(sums); err != nil {
		t.Fatal(err)
	}
	return r, sums
}

// The plugin manifest has the fields that krew wants and no others, and names archives that exist,
// with their checksums, and a program and a license in each.
func TestKrew(t *testing.T) {
	r, sums := released(t)
	text, err := os.ReadFile(filepath.Join(r.out, "krew.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var plugin krewPlugin
	if err := yaml.UnmarshalStrict(text, &plugin); err != nil {
		t.Fatal(err)
	}
	spec := plugin.Spec
	if plugin.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" ||
		plugin.Kind != "Plugin" || plugin.Metadata.Name != "muster" || spec.Version != r.version ||
		spec.Homepage != homepage || spec.Description == "" || spec.ShortDescription == "" ||
		len(spec.ShortDescription) > 50 {
		t.Errorf("fields of krew.yaml:\n%s", text)
	}
	var found []string
	for _, p := range spec.Platforms {
		labels := p.Selector.MatchLabels
		platform := labels["os"] + "/" + labels["arch"]
		found = append(found, platform)
		name := path.Base(p.URI)
		if p.SHA256 != sums[name] || len(p.SHA256) != 64 || !strings.HasPrefix(p.URI, "https://") {
			t.Errorf("%s: %s has the checksum %s, not %s", platform, p.URI, p.SHA256, sums[name])
		}
		entries := entriesOf(t, filepath.Join(r.out, name))
		if entries[p.Bin] != platform || entries["LICENSE"] == "" {
			t.Errorf("%s: %s holds %v, and %s is run", platform, name, entries, p.Bin)
		}
	}
	if !slices.Equal(found, platforms) {
		t.Errorf("platforms %v, want %v", found, platforms)
	}
}

// The formula is Ruby, and its checksums are those of the archives.
func TestFormula(t *testing.T) {
	r, sums := released(t)
	formula := filepath.Join(r.out, "muster.rb")
	text, err := os.ReadFile(formula)
	if err != nil {
		t.Fatal(err)
	}
	pairs := regexp.MustCompile(`url "(.*)"\s+sha256 "(.*)"`).FindAllStringSubmatch(string(text), -1)
	if len(pairs) != 4 || !strings.Contains(string(text), `homepage "`+homepage+`"`) {
		t.Errorf("%d archives in the formula:\n%s", len(pairs), text)
	}
	for _, pair := range pairs {
		if want := sums[path.Base(pair[1])]; want == "" || pair[2] != want {
			t.Errorf("%s has the checksum %s, not %s", pair[1], pair[2], want)
		}
	}
	ruby, err := exec.LookPath("ruby")
	if err != nil {
		return // the text was checked as far as that is possible without it
	}
	if out, err := exec.Command(ruby, "-c", formula).CombinedOutput(); err != nil {
		t.Errorf("ruby -c: %v\n%s", err, out)
	}
}

// entriesOf returns the files of an archive.
func entriesOf(t *testing.T, name string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]string{}
	add := func(name string, in io.Reader) {
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		entries[name] = string(content)
	}
	if path.Ext(name) == ".zip" {
		archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.File {
			in, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			add(f.Name, in)
		}
		return entries
	}
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(zipped)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return entries
		}
		if err != nil {
			t.Fatal(err)
		}
		add(header.Name, archive)
	}
}

// Packages have the files where Debian wants them: pages and changes compressed, always alike.
func TestPlaces(t *testing.T) {
	for name, want := range map[string]string{
		"muster":                  "/usr/bin/muster",
		"completions/muster.bash": "/usr/share/bash-completion/completions/muster",
		"completions/_muster":     "/usr/share/zsh/vendor-completions/_muster",
		"man/man1/muster-apply.1": "/usr/share/man/man1/muster-apply.1.gz",
		"LICENSE":                 "/usr/share/doc/muster/copyright",
		"NOTICE":                  "/usr/share/doc/muster/NOTICE",
		"CHANGELOG.md":            "/usr/share/doc/muster/changelog.gz",
		"completions/muster.ps1":  "",
		"README.md":               "",
	} {
		if got := placeOf(name); got != want {
			t.Errorf("%s is at %q, want %q", name, got, want)
		}
	}
	one, err := compressed([]byte("page"), "muster.1.gz")
	if err != nil {
		t.Fatal(err)
	}
	zipped, err := gzip.NewReader(bytes.NewReader(one))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(zipped); string(text) != "page" || err != nil ||
		zipped.Name != "" || !zipped.ModTime.IsZero() {
		t.Errorf("%q, named %q, of %s, %v", text, zipped.Name, zipped.ModTime, err)
	}
	if plain, err := compressed([]byte("page"), "copyright"); string(plain) != "page" || err != nil {
		t.Errorf("%q, %v", plain, err)
	}
}
