// Command muster-kwok simulates what a plane does not run: nodes and the life of pods, volumes and
// load balancers. It runs kwok's controllers with the stages of a plane, makes the nodes and
// storage classes, and serves logs as a kubelet does.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/muster-deploy/muster/local/lifeline"
)

// options is what the command line gives.
type options struct {
	kubeconfig string
	nodes      int
	real       int    // nodes that run containers
	listen     string // address of the simulated kubelet
	clientCA   string
	cert, key  string
	logClient  string
}

func main() {
	lifeline.Follow()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "muster-kwok:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	o := options{}
	flags := pflag.NewFlagSet("muster-kwok", pflag.ContinueOnError)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "file that says how to reach the API server")
	flags.IntVar(&o.nodes, "nodes", 1, "number of nodes")
	flags.IntVar(&o.real, "real-nodes", 0, "number of nodes that run containers")
	flags.StringVar(&o.listen, "listen", "", "address and port of the simulated kubelet")
	flags.StringVar(
		&o.clientCA,
		"client-ca-file",
		"",
		"authority that signs the certificates of the kubelet's clients",
	)
	flags.StringVar(&o.cert, "tls-cert-file", "", "serving certificate of the kubelet")
	flags.StringVar(&o.key, "tls-private-key-file", "", "key of the serving certificate")
	flags.StringVar(&o.logClient, "log-client", "", "common name of the client that may read logs")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return o, nil
}

// run simulates until ctx is done, or something that it cannot do without fails.
func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	s, err := newSimulator(o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Both end with ctx; a failure of either ends the other, and is what run returns.
	go func() { cancel(s.serve(ctx)) }()
	if err := s.start(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err // What ended ctx, also if start noticed first.
	}
	return nil
}
