package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// tool returns the command line of a tool that release/tools.mod pins.
func tool(name string, args ...string) []string {
	return append([]string{"tool", "-modfile=release/tools.mod", name}, args...)
}

// listComponents writes which modules a program is made of, in the JSON of CycloneDX. The time of
// the list is that of the release, so that it is the same each time.
func (r *release) listComponents(ctx context.Context, program, to string) error {
	args := tool("cyclonedx-gomod", "bin", "-json", "-noserial", "-version", r.version, "-output", to,
		program)
	if err := command(ctx, "", nil, "go", args...); err != nil {
		return err
	}
	text, err := os.ReadFile(to)
	if err != nil {
		return err
	}
	var list map[string]any
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	if metadata, ok := list["metadata"].(map[string]any); ok {
		metadata["timestamp"] = r.date.Format("2006-01-02T15:04:05Z07:00")
		delete(metadata, "tools") // their checksums depend on the machine
	}
	if text, err = json.MarshalIndent(list, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(to, append(text, '\n'), 0o644)
}

// places are where packages of Linux have the files of an archive; %s stands for the rest of the
// name. The first place that fits counts.
var places = []struct{ from, to string }{
	{"muster", "/usr/bin/muster%s"},
	{"completions/muster.bash", "/usr/share/bash-completion/completions/muster%s"},
	{"completions/_muster", "/usr/share/zsh/vendor-completions/_muster%s"},
	{"completions/muster.fish", "/usr/share/fish/vendor_completions.d/muster.fish%s"},
	{"man/man1/", "/usr/share/man/man1/%s.gz"},
	{"LICENSE", "/usr/share/doc/muster/copyright%s"},
	{"NOTICE", "/usr/share/doc/muster/NOTICE%s"},
	{"CHANGELOG.md", "/usr/share/doc/muster/changelog.gz%s"},
}

// compressed returns the content of a file at its place: pages and changes are compressed there, as
// the rules of Debian want it. Neither name nor time of the file is in it.
func compressed(content []byte, place string) ([]byte, error) {
	if path.Ext(place) != ".gz" {
		return content, nil
	}
	var b bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := zipped.Write(content); err != nil {
		return nil, err
	}
	err = zipped.Close()
	return b.Bytes(), err
}

// placeOf returns where a package has a file of an archive; empty if it does not have it.
func placeOf(name string) string {
	for _, place := range places {
		if rest, ok := strings.CutPrefix(name, place.from); ok {
			return fmt.Sprintf(place.to, rest)
		}
	}
	return ""
}

// packageFile is a file in the description of a package.
type packageFile struct {
	Source      string         `json:"src"`
	Destination string         `json:"dst"`
	Info        map[string]any `json:"file_info"`
}

// writePackages writes the packages for Debian and for systems with rpm.
func (r *release) writePackages(ctx context.Context, files []file, dir, arch string) error {
	var contents []packageFile
	for _, f := range files {
		place := placeOf(f.name)
		if place == "" {
			continue
		}
		content, err := compressed(f.content, place)
		if err != nil {
			return err
		}
		source := filepath.Join(dir, "package", filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(source, content, 0o644); err != nil {
			return err
		}
		contents = append(contents, packageFile{
			Source: source, Destination: place,
			Info: map[string]any{"mode": f.mode, "mtime": r.date},
		})
	}
	description, err := r.describePackage(arch, contents)
	if err != nil {
		return err
	}
	config := filepath.Join(dir, "nfpm.yaml")
	if err := os.WriteFile(config, description, 0o644); err != nil {
		return err
	}
	env := []string{fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.date.Unix())}
	for _, kind := range []string{"deb", "rpm"} {
		to := filepath.Join(r.out, r.base("linux", arch)+"."+kind)
		args := tool("nfpm", "package", "-f", config, "-p", kind, "-t", to)
		if err := command(ctx, "", env, "go", args...); err != nil {
			return fmt.Errorf("write %s: %w", to, err)
		}
	}
	return nil
}

// describePackage returns the description of the package for an architecture.
func (r *release) describePackage(arch string, contents []packageFile) ([]byte, error) {
	return yaml.Marshal(map[string]any{
		"name": "muster", "arch": arch, "platform": "linux", "version": r.version,
		"section": "utils", "priority": "optional", "license": "Apache-2.0",
		"maintainer":  "The muster authors",
		"homepage":    homepage,
		"description": "Deploys sets of Kubernetes objects as one unit.",
		"mtime":       r.date,
		"contents":    contents,
		"rpm":         map[string]any{"buildhost": "release"},
	})
}
