//go:build linux

// Command muster-node runs a real node of a plane on this machine: a kubelet, containerd, and a
// registry that serves a test image for every name. All of it is in namespaces of its own, below
// cgroups of its own, and ends with this program.
//
// The program runs three times. The first process is on the host: it makes the cgroups and the
// network link, and forwards connections to the API server. It starts the second, the first process
// of the namespaces, which mounts what the node needs and starts its programs. When that process
// ends, the kernel ends everything else in the namespaces. The third removes the cgroups and the
// link when the first has ended, in whatever way.
package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"

	"github.com/spf13/pflag"
)

// options is what the command line says. All is needed.
type options struct {
	name    string // of the node
	label   string // of real nodes, and key of the taint of those beside simulated ones
	slot    int    // number of the node's addresses on this machine
	state   string // folder of the plane
	bin     string // folder of the programs
	api     int    // port of the API server on 127.0.0.1
	listen  int    // port on 127.0.0.1 that is forwarded to the kubelet
	tainted bool   // pods need a toleration
	inside  bool   // this is the first process of the namespaces
	clean   bool   // this is the process that removes the cgroups in groups, and the link
	groups  []string
}

func main() {
	o, err := parse(os.Args[1:])
	switch {
	case err != nil:
	case o.inside:
		err = runInside(o)
	case o.clean:
		err = runCleaner(o)
	default:
		err = runOnHost(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "muster-node:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	o := options{}
	flags := pflag.NewFlagSet("muster-node", pflag.ContinueOnError)
	flags.StringVar(&o.name, "name", "", "name of the node")
	flags.StringVar(&o.label, "label", "", "label of the node, and key of its taint")
	flags.IntVar(&o.slot, "slot", 0, "number of the node's addresses on this machine")
	flags.StringVar(&o.state, "state", "", "folder of the plane")
	flags.StringVar(&o.bin, "bin", "", "folder of the programs")
	flags.IntVar(&o.api, "api-port", 0, "port of the API server on 127.0.0.1")
	flags.IntVar(&o.listen, "port", 0, "port on 127.0.0.1 that is forwarded to the kubelet")
	flags.BoolVar(&o.tainted, "tainted", false, "register the node with a taint")
	flags.BoolVar(&o.inside, "inside", false, "this is the first process of the namespaces")
	flags.BoolVar(&o.clean, "clean", false, "remove what the node has on the host when it has ended")
	flags.StringArrayVar(&o.groups, "group", nil, "folder of a cgroup to remove")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 || o.name == "" || o.state == "" || o.bin == "" {
		return o, errors.New("muster-local starts this program; see docs/local.md")
	}
	return o, nil
}

// args returns the arguments of the other processes, besides what says which of them it is.
func (o options) args() []string {
	return []string{
		"--name=" + o.name, "--label=" + o.label, "--slot=" + strconv.Itoa(o.slot),
		"--state=" + o.state, "--bin=" + o.bin, "--api-port=" + strconv.Itoa(o.api),
		"--tainted=" + strconv.FormatBool(o.tainted),
	}
}

// hostIP returns the address of the host on its link to the node: the first of 10.126.255.4N/30 for
// slot N.
func (o options) hostIP() netip.Addr {
	return netip.AddrFrom4([4]byte{10, 126, 255, byte(4*o.slot + 1)})
}

// nodeIP returns the address of the node on the same link.
func (o options) nodeIP() netip.Addr { return o.hostIP().Next() }

// pods returns the addresses of the pods: 10.126.N.0/24 for slot N.
func (o options) pods() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 126, byte(o.slot), 0}), 24)
}
