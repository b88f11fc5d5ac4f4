package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// of returns a release whose archives exist.
func of(url string) (release, map[string]string) {
	r := release{version: "v1.2.3", url: url, platforms: platforms, date: time.Unix(1e9, 0).UTC()}
	sums := map[string]string{}
	for _, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "/")
		for _, ending := range []string{".tar.gz", ".zip"} {
			sums[r.base(system, arch)+ending] = system + arch
		}
	}
	return r, sums
}

// What is missing or wrong is said before anything is built.
func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		r    release
		want string
	}{
		{release{}, "VERSION is empty"},
		{release{version: "1.2"}, "v1.2.3 or v1.2.3-rc.1"},
		{release{version: "v1.2.3"}, "RELEASE_URL=none"},
		{release{version: "v1.2.3", url: "ftp://x"}, "must begin with https://"},
		{release{version: "v1.2.4", url: noAddress}, "CHANGELOG.md has no section for v1.2.4"},
		{release{version: "v1.2.3", url: noAddress, platforms: []string{"plan9/amd64"}}, "plan9/amd64"},
		{release{version: "v1.2.3", url: noAddress, platforms: platforms}, ""},
		{release{version: "v2.0.0-rc.1", url: noAddress, platforms: platforms}, ""},
	} {
		err := tc.r.check("# Changelog\n\n## [1.2.3] - 2026-01-02\n")
		if tc.want == "" && err != nil || tc.want != "" && (err == nil ||
			!strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%+v: got %v, want %q", tc.r, err, tc.want)
		}
	}
}

// The manifests name the version, and the address and checksum of every archive.
func TestManifests(t *testing.T) {
	r, sums := of("https://example.com/muster/")
	r.out = t.TempDir()
	if err := r.writeManifests(sums); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"Containerfile": {"FROM scratch", "ADD muster_1.2.3_linux_${TARGETARCH}.tar.gz /"},
		"krew.yaml": {"version: v1.2.3",
			"uri: https://example.com/muster/muster_1.2.3_windows_arm64.zip\n",
			"sha256: windowsarm64", "bin: muster.exe"},
		"muster.rb": {`version "1.2.3"`,
			`url "https://example.com/muster/muster_1.2.3_darwin_arm64.tar.gz"`,
			`sha256 "linuxamd64"`, `assert_match "v1.2.3"`},
	} {
		text, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s has no %q:\n%s", name, part, text)
			}
		}
		if name == "krew.yaml" && strings.Count(string(text), "selector:") != len(platforms) {
			t.Errorf("not every platform is in krew.yaml:\n%s", text)
		}
		var parsed map[string]any
		if err := yaml.Unmarshal(text, &parsed); name == "krew.yaml" && err != nil {
			t.Errorf("krew.yaml: %v", err)
		}
	}
	without, _ := of(noAddress)
	without.out = t.TempDir()
	if err := without.writeManifests(sums); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(without.out, "krew.yaml")); err == nil {
		t.Error("without an address there is a krew manifest")
	}
}

// Archives depend on nothing but their files and the time of the release, and have completions and
// manual pages.
func TestArchives(t *testing.T) {
	r, _ := of(noAddress)
	dir := t.TempDir()
	for _, name := range []string{"muster", "LICENSE", "NOTICE", "README.md", "CHANGELOG.md"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := r.files(dir, filepath.Join(dir, "muster"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]file{}
	for _, f := range files {
		found[f.name] = f
	}
	for _, name := range []string{"completions/_muster", "completions/muster.bash",
		"man/man1/muster.1", "man/man1/muster-apply.1"} {
		if len(found[name].content) < 500 {
			t.Errorf("%s has %d bytes", name, len(found[name].content))
		}
	}
	if string(found["NOTICE"].content) != "NOTICE" {
		t.Error("the archive has no NOTICE: its license wants one with the definition of kpt")
	}
	if found["muster"].mode != 0o755 || found["LICENSE"].mode != 0o644 {
		t.Errorf("modes %o and %o", found["muster"].mode, found["LICENSE"].mode)
	}
	for _, form := range []func(io.Writer, []file, time.Time) error{writeTar, writeZip} {
		write := func() ([]byte, error) {
			var b bytes.Buffer
			err := form(&b, files, r.date)
			return b.Bytes(), err
		}
		one, err := write()
		if err != nil {
			t.Fatal(err)
		}
		two, err := write()
		if err != nil || !bytes.Equal(one, two) {
			t.Errorf("two archives differ: %v", err)
		}
	}
}
