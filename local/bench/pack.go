package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// pack is a package on disk: the objects in a folder of their own, and beside it what packages need.
type pack struct {
	dir, namespace string
}

// changedShare is how many objects share one that changes: one per cent.
const changedShare = 100

// template is what all deployments have in common.
const template = `
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: main, image: "example/web:1"}]}
`

// shapes are the kinds of a mixed package, with what follows their metadata; %[1]s is the name.
var shapes = []string{
	"apiVersion: v1\nkind: ConfigMap\n%[2]sdata: {key: value, long: some text that a program reads}\n",
	"apiVersion: v1\nkind: Secret\n%[2]sdata: {password: bm90LW9uZQ==}\n",
	"apiVersion: v1\nkind: ServiceAccount\n%[2]s",
	"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n%[2]srules: [{apiGroups: [''], resources: [configmaps], verbs: [get, list]}]\n",
	"apiVersion: v1\nkind: Service\n%[2]sspec: {selector: {app: %[1]s}, ports: [{port: 80}]}\n",
	"apiVersion: apps/v1\nkind: Deployment\n%[2]sspec:\n  replicas: 0" + template,
}

// running are the shapes of a package whose objects have pods to wait for.
var running = []string{"apiVersion: apps/v1\nkind: Deployment\n%[2]sspec:\n  replicas: 1" + template}

// newPack makes the folder of a package whose objects are in a namespace.
func newPack(dir, namespace string) (*pack, error) {
	p := &pack{dir, namespace}
	if err := os.MkdirAll(p.objects(), 0o700); err != nil {
		return nil, err
	}
	for name, text := range map[string]string{
		"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: bench}\n",
		"resourcegroup.yaml": fmt.Sprintf("apiVersion: kpt.dev/v1alpha1\nkind: ResourceGroup\nmetadata:\n  name: bench\n"+
			"  namespace: %[1]s\n  labels: {cli-utils.sigs.k8s.io/inventory-id: bench-%[1]s}\n", namespace),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *pack) objects() string { return filepath.Join(p.dir, "objects") }

// write writes n objects, split evenly over the shapes. One in changedShare is of the given edition, all others of the
// first.
func (p *pack) write(shapes []string, n, edition int) error {
	var all bytes.Buffer
	for i := range n {
		of := 1
		if i%changedShare == 0 {
			of = edition
		}
		name := fmt.Sprintf("bench-%05d", i)
		meta := fmt.Sprintf("metadata:\n  name: %s\n  namespace: %s\n  annotations: {example.com/edition: '%d'}\n", name, p.namespace, of)
		all.WriteString("---\n")
		fmt.Fprintf(&all, shapes[i%len(shapes)], name, meta)
	}
	return os.WriteFile(filepath.Join(p.objects(), "objects.yaml"), all.Bytes(), 0o600)
}
