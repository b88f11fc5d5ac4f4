package main

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

// archive is a file of the release that the manifests name.
type archive struct{ System, Arch, Program, URL, Sum string }

// manifest is what the templates of manifests use.
type manifest struct {
	Version  string // as v1.2.3
	Number   string // as 1.2.3
	Archives []archive
}

// Homepage returns the address of the project.
func (m manifest) Homepage() string { return homepage }

// Archive returns the archive of a platform; nil if the release has none.
func (m manifest) Archive(system, arch string) *archive {
	for _, a := range m.Archives {
		if a.System == system && a.Arch == arch {
			return &a
		}
	}
	return nil
}

// writeManifests writes the manifests of package managers, for files with these checksums. Without
// an address only the container file is written.
func (r *release) writeManifests(sums map[string]string) error {
	m := manifest{Version: r.version, Number: strings.TrimPrefix(r.version, "v")}
	for _, platform := range r.platforms {
		system, arch, _ := strings.Cut(platform, "/")
		a := archive{System: system, Arch: arch, Program: "muster"}
		name := r.base(system, arch) + ".tar.gz"
		if system == "windows" {
			a.Program, name = "muster.exe", r.base(system, arch)+".zip"
		}
		if a.Sum = sums[name]; a.Sum == "" {
			return fmt.Errorf("%s is missing in the release", name)
		}
		a.URL = strings.TrimSuffix(r.url, "/") + "/" + name
		m.Archives = append(m.Archives, a)
	}
	names := []string{"Containerfile"}
	if r.url != noAddress {
		names = append(names, "krew.yaml", "muster.rb")
	}
	for _, name := range names {
		text, err := m.render(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.out, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// render returns a manifest.
func (m manifest) render(name string) ([]byte, error) {
	t, err := template.New(name).ParseFS(templates, "templates/"+name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, m)
	return b.Bytes(), err
}
