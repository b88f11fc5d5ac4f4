package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	"sigs.k8s.io/kwok/pkg/utils/client"

	"github.com/muster-deploy/muster/local/kubelet"
)

// simulator holds what its parts share.
type simulator struct {
	options options
	address string // of the kubelet
	port    int
	client  kubernetes.Interface
	kwok    client.Clientset
	ready   atomic.Bool
}

func newSimulator(o options) (*simulator, error) {
	host, text, err := net.SplitHostPort(o.listen)
	if err != nil {
		return nil, fmt.Errorf("address of the kubelet: %w", err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("port of the kubelet: %w", err)
	}
	set, err := client.NewClientset("", o.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	config, err := set.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	config.UserAgent = "muster-kwok"
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return &simulator{options: o, address: host, port: port, client: typed, kwok: set}, nil
}

// start makes the objects, and starts kwok's controllers.
func (s *simulator) start(ctx context.Context) error {
	version, err := s.client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("ask for the version: %w", err)
	}
	config, err := s.config(version.GitVersion)
	if err != nil {
		return err
	}
	controller, err := controllers.NewController(config)
	if err != nil {
		return fmt.Errorf("make controllers: %w", err)
	}
	if err := s.makeObjects(ctx); err != nil {
		return err
	}
	if err := controller.Start(ctx); err != nil {
		return fmt.Errorf("start controllers: %w", err)
	}
	s.ready.Store(true)
	return nil
}

// config returns the configuration of kwok's controllers. Its identity never changes, so that a
// restart takes over the leases of the nodes at once.
func (s *simulator) config(version string) (controllers.Config, error) {
	local, err := loadStages()
	if err != nil {
		return controllers.Config{}, err
	}
	dynamic, err := s.kwok.ToDynamicClient()
	if err != nil {
		return controllers.Config{}, fmt.Errorf("connect: %w", err)
	}
	mapper, err := s.kwok.ToRESTMapper()
	if err != nil {
		return controllers.Config{}, fmt.Errorf("connect: %w", err)
	}
	config, err := s.kwok.ToRESTConfig()
	if err != nil {
		return controllers.Config{}, fmt.Errorf("connect: %w", err)
	}
	plain, err := rest.RESTClientFor(config)
	if err != nil {
		return controllers.Config{}, fmt.Errorf("connect: %w", err)
	}
	functions := kubelet.Functions(time.Now)
	functions["KubeletVersion"] = func() string { return version }
	return controllers.Config{
		ID:             "muster-kwok",
		Clock:          clock.RealClock{},
		DynamicClient:  dynamic,
		RESTClient:     plain,
		RESTMapper:     mapper,
		TypedClient:    s.client,
		LocalStages:    local,
		FuncMap:        functions,
		ManageAllNodes: true,
		// Pods follow their node. A selector of the managed nodes would leave out those without labels.
		DisregardStatusWithLabelSelector: realNodes,
		NodeIP:                           s.address,
		NodePort:                         s.port,
		CIDR:                             podRange,
		NodeLeaseDurationSeconds:         40,
		NodeLeaseParallelism:             4,
		NodePlayStageParallelism:         4,
		PodPlayStageParallelism:          8,
		PodsOnNodeSyncParallelism:        1,
	}, nil
}

// serve runs the simulated kubelet until ctx is done or it cannot serve.
func (s *simulator) serve(ctx context.Context) error {
	ca, err := os.ReadFile(s.options.clientCA)
	if err != nil {
		return fmt.Errorf("read client authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return errors.New("read client authority: no certificate in it")
	}
	logs := &kubelet.Server{Pods: s.client, Client: s.options.logClient, Health: s.health}
	server := &http.Server{
		Addr:              s.options.listen,
		Handler:           logs.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		TLSConfig:         &tls.Config{ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert},
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.ListenAndServeTLS(s.options.cert, s.options.key); !errors.Is(
		err,
		http.ErrServerClosed,
	) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

func (s *simulator) health() error {
	if !s.ready.Load() {
		return errors.New("nodes and storage classes are being made")
	}
	return nil
}
