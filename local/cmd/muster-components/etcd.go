package main

import (
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

// etcdCommand runs a single etcd member. Its data is not flushed to disk on every write: a local
// plane is thrown away, and a power failure may cost it.
func etcdCommand() *cobra.Command {
	var dir, client, peer, ca, cert, key string
	cmd := &cobra.Command{
		Use:           "etcd",
		Short:         "A single etcd member on loopback, with client certificates",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(*cobra.Command, []string) error {
			tls := transport.TLSInfo{TrustedCAFile: ca, CertFile: cert, KeyFile: key, ClientCertAuth: true}
			return runEtcd(dir, client, peer, tls)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&dir, "data-dir", "", "folder of the data")
	flags.StringVar(&client, "listen-client-url", "", "address for clients")
	flags.StringVar(&peer, "listen-peer-url", "", "address for peers")
	flags.StringVar(&ca, "trusted-ca-file", "", "authority that signs client certificates")
	flags.StringVar(&cert, "cert-file", "", "serving certificate")
	flags.StringVar(&key, "key-file", "", "key of the serving certificate")
	return cmd
}

func runEtcd(dir, client, peer string, tls transport.TLSInfo) error {
	clientURL, err := url.Parse(client)
	if err != nil {
		return fmt.Errorf("client address: %w", err)
	}
	peerURL, err := url.Parse(peer)
	if err != nil {
		return fmt.Errorf("peer address: %w", err)
	}
	cfg := embed.NewConfig()
	cfg.Dir = dir
	cfg.UnsafeNoFsync = true
	cfg.LogLevel = "error"
	cfg.TickMs, cfg.ElectionMs = 10, 100 // a single member need not wait long for votes
	cfg.ClientTLSInfo, cfg.PeerTLSInfo = tls, tls
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*clientURL}, []url.URL{*clientURL}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peerURL}, []url.URL{*peerURL}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.AutoCompactionMode, cfg.AutoCompactionRetention = "periodic", "5m"
	cfg.QuotaBackendBytes = 8 << 30

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	defer server.Close()
	select {
	case <-stop:
		return nil
	case err := <-server.Err():
		return err
	}
}
