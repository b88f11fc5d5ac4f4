package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
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
	{"man/man1/", "/usr/share/man/man1/%s"},
	{"LICENSE", "/usr/share/doc/muster/copyright%s"},
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
		for _, place := range places {
			rest, ok := strings.CutPrefix(f.name, place.from)
			if !ok {
				continue
			}
			path := filepath.Join(dir, "package", filepath.FromSlash(f.name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, f.content, 0o644); err != nil {
				return err
			}
			contents = append(contents, packageFile{
				Source: path, Destination: fmt.Sprintf(place.to, rest),
				Info: map[string]any{"mode": f.mode, "mtime": r.date},
			})
			break
		}
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
		"description": "Deploys sets of Kubernetes objects as one unit.",
		"mtime":       r.date,
		"contents":    contents,
		"rpm":         map[string]any{"buildhost": "release"},
	})
}
