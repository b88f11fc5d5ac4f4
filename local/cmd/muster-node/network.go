//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	kubeletPort = 10250
	insideLink  = "eth0"
	// serviceIP is the address of the service "kubernetes", serviceDNS that of the DNS service.
	serviceIP  = "10.96.0.1"
	serviceDNS = "10.96.0.10"
	// linkTimeout bounds the wait for the link, which is made when the process has started.
	linkTimeout = 10 * time.Second
)

// claim keeps other nodes from using the same addresses, link and cgroups until it is closed by all
// processes that have it.
func claim(o options) (*net.UnixListener, error) {
	name := fmt.Sprintf("@muster-node-%d", o.slot)
	return net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
}

// hostLink returns the name of the link on the host.
func hostLink(o options) string { return fmt.Sprintf("muster-node%d", o.slot) }

func onLoopback(port int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(port))
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// connect makes a pair of links, of which one is in the network namespace of a process, and the
// route to the pods.
func connect(o options, pid int) error {
	if err := disconnect(o); err != nil {
		return err // a node that was killed left its link
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name = hostLink(o)
	err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attributes, PeerName: insideLink,
		PeerNamespace: netlink.NsPid(pid)})
	if err != nil {
		return err
	}
	link, err := raise(attributes.Name, netip.PrefixFrom(o.hostIP(), 30))
	if err != nil {
		return err
	}
	return netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: ipNet(o.pods()),
		Gw: o.nodeIP().AsSlice()})
}

// disconnect removes the link of the host, with what hangs on it.
func disconnect(o options) error {
	link, err := netlink.LinkByName(hostLink(o))
	if _, gone := errors.AsType[netlink.LinkNotFoundError](err); gone {
		return nil
	} else if err != nil {
		return err
	}
	if err := netlink.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
		return err // the end of the namespace may have removed it
	}
	return nil
}

// raise adds addresses to a link and sets it up.
func raise(name string, addresses ...netip.Prefix) (netlink.Link, error) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return nil, err
	}
	for _, address := range addresses {
		if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: ipNet(address)}); err != nil {
			return nil, err
		}
	}
	return link, netlink.LinkSetUp(link)
}

// connectInside sets up the links in the namespace, and forwards what is meant for the API server
// to the host: the connections of the kubelet, and those of pods to the service "kubernetes".
func connectInside(o options) error {
	service := netip.MustParseAddr(serviceIP)
	if _, err := raise("lo", netip.PrefixFrom(service, 32)); err != nil {
		return err
	}
	end := time.Now().Add(linkTimeout)
	for {
		_, err := netlink.LinkByName(insideLink)
		if err == nil {
			break
		}
		if time.Now().After(end) {
			return err
		}
		time.Sleep(5 * time.Millisecond) // links cannot be waited for here as processes can
	}
	link, err := raise(insideLink, netip.PrefixFrom(o.nodeIP(), 30))
	if err != nil {
		return err
	}
	err = netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: o.hostIP().AsSlice()})
	if err != nil {
		return err
	}
	api := netip.AddrPortFrom(o.hostIP(), uint16(o.api))
	return errors.Join(forward(onLoopback(o.api), api), forward(netip.AddrPortFrom(service, 443), api))
}

// forward listens on an address, and forwards connections to another as long as the process runs.
func forward(from, to netip.AddrPort) error {
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(from))
	if err != nil {
		return err
	}
	// Ends with the process.
	go func() {
		for {
			client, err := listener.AcceptTCP()
			if err != nil {
				fmt.Fprintln(os.Stderr, "muster-node:", err)
				os.Exit(1)
			}
			go exchange(client, to)
		}
	}()
	return nil
}

// exchange copies between a connection and a new one to an address until both ends are closed.
func exchange(client *net.TCPConn, to netip.AddrPort) {
	defer client.Close()
	server, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(to))
	if err != nil {
		return
	}
	defer server.Close()
	done := make(chan struct{})
	go func() { // ends when the client has sent all, or the server is gone
		_, _ = io.Copy(server, client)
		_ = server.CloseWrite()
		close(done)
	}()
	_, _ = io.Copy(client, server)
	_ = client.CloseWrite()
	<-done
}
