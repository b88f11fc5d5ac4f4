package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// pack is a package on disk: the objects in a folder of their own, what packages need beside it,
// and a chart of the same objects.
type pack struct {
	dir        string
	home       string   // the namespace of the record
	namespaces []string // of the objects, which take turns
}

// newPack makes the folders of a package below a folder.
func newPack(root, home string, namespaces []string) (*pack, error) {
	p := &pack{filepath.Join(root, "package"), home, namespaces}
	for _, dir := range []string{p.objects(), p.chart()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	for name, text := range map[string]string{
		filepath.Join(p.dir, "Kptfile"): "apiVersion: kpt.dev/v1\nkind: Kptfile\n" +
			"metadata: {name: bench}\n",
		filepath.Join(p.dir, "resourcegroup.yaml"): fmt.Sprintf(
			"apiVersion: kpt.dev/v1alpha1\nkind: ResourceGroup\nmetadata:\n  name: bench\n"+
				"  namespace: %[1]s\n  labels: {cli-utils.sigs.k8s.io/inventory-id: bench-%[1]s}\n",
			home,
		),
		filepath.Join(p.chart(), "Chart.yaml"): "apiVersion: v2\nname: bench\nversion: 1.0.0\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return p, os.Symlink(p.objects(), filepath.Join(p.chart(), "templates"))
}

func (p *pack) objects() string { return filepath.Join(p.dir, "objects") }

// chart returns the path of the Helm chart, which is beside the package: inside, it would be part
// of it.
func (p *pack) chart() string { return filepath.Join(filepath.Dir(p.dir), "chart") }

// write writes n objects of a content, in an edition.
func (p *pack) write(c content, n, edition int) error {
	for name, data := range c(p, n, edition) {
		if err := os.WriteFile(filepath.Join(p.objects(), name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// spreadOver returns the namespaces of a package: that of the record alone, or n others with its
// name as prefix.
func spreadOver(home string, number int) []string {
	if number == 1 {
		return []string{home}
	}
	names := make([]string, number)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%03d", home, i)
	}
	return names
}
