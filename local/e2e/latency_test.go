package e2e

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// latencyEnv is the environment variable for how long each answer of the server takes longer, such
// as 200ms: a script that fails with it depends on how fast the machine is.
const latencyEnv = "MUSTER_E2E_LATENCY"

// lateAddress is where the server is reached with that latency; empty if none is asked for. It is
// set before the first test.
var lateAddress string

// startLatency lets all kubeconfigs of writeKubeconfig reach the server with the latency that
// latencyEnv asks for.
func startLatency() error {
	text := os.Getenv(latencyEnv)
	if text == "" {
		return nil
	}
	latency, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%s: %w", latencyEnv, err)
	}
	config, err := clientcmd.LoadFromFile(cluster.Kubeconfig())
	if err != nil {
		return err
	}
	server, err := url.Parse(currentCluster(config).Server)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	lateAddress = "https://" + listener.Addr().String()
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go forward(client, server.Host, latency)
		}
	}()
	return nil
}

// currentCluster returns the cluster of the current context.
func currentCluster(config *clientcmdapi.Config) *clientcmdapi.Cluster {
	return config.Clusters[config.Contexts[config.CurrentContext].Cluster]
}

// forward copies between a client and the server until one of them ends the connection. What the
// server sends arrives later by the latency, in order and as fast as it was sent.
func forward(client net.Conn, address string, latency time.Duration) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	type chunk struct {
		due  time.Time
		data []byte
	}
	chunks := make(chan chunk, 1024)
	go func() {
		defer close(chunks)
		for {
			data := make([]byte, 32<<10)
			n, err := server.Read(data)
			if n > 0 {
				chunks <- chunk{time.Now().Add(latency), data[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for c := range chunks {
		time.Sleep(time.Until(c.due))
		if _, err := client.Write(c.data); err != nil {
			server.Close()
		}
	}
}
