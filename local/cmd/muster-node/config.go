//go:build linux

package main

import (
	"embed"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"text/template"
)

// Folders in the mount namespace of the node, where the plane's folder and that of the programs
// are, whatever their paths on the host.
const (
	planeFolder = "/run/muster-local"
	binFolder   = "/run/muster-bin"
	programs    = binFolder + "/node" // those from the module local/node
	// volumeFolder is where the simulated provisioner puts volumes.
	volumeFolder = "/var/lib/muster-local/volumes"
	socket       = "/run/containerd/containerd.sock"
	registry     = "127.0.0.1:5000"
	pauseImage   = "muster.local/pause:1"
)

//go:embed config
var templates embed.FS

// values are those of the templates.
type values struct {
	Name, State, Config, PKI, Programs string
	Socket, Registry, Pause, DNS       string
	Address                            netip.Addr
	Pods                               netip.Prefix
	Port                               int
}

func (o options) values() values {
	state := filepath.Join(planeFolder, o.name)
	return values{
		Name: o.name, State: state, Config: filepath.Join(state, "config"),
		PKI: filepath.Join(planeFolder, "pki"), Programs: programs,
		Socket: socket, Registry: registry, Pause: pauseImage, DNS: serviceDNS,
		Address: o.nodeIP(), Pods: o.pods(), Port: kubeletPort,
	}
}

// writeConfig writes the configuration of the node's programs.
func writeConfig(v values) error {
	files := map[string]string{
		"containerd.toml":  "containerd.toml",
		"kubelet.yaml":     "kubelet.yaml",
		"network.conflist": "cni/network.conflist",
		"hosts.toml":       "registries/_default/hosts.toml",
	}
	all, err := template.ParseFS(templates, "config/*")
	if err != nil {
		return err
	}
	for name, path := range files {
		path = filepath.Join(v.Config, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		err = all.ExecuteTemplate(file, name, v)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}
