package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/shirou/gopsutil/v4/process"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/muster-deploy/muster/local/plane"
)

// ground is a control plane that tools work on.
type ground struct {
	plane   *plane.Plane
	config  *rest.Config
	client  kubernetes.Interface
	counter *counter
	server  *process.Process // the API server
}

// raise starts a plane in a folder of the scenario's.
func (s *site) raise(ctx context.Context, name string) (g *ground, err error) {
	if err := os.MkdirAll(s.temp, 0o700); err != nil {
		return nil, err
	}
	g = &ground{}
	options := plane.Options{
		Dir: filepath.Join(s.temp, name), Bin: s.options.bin, Nodes: new(2), Tied: true,
	}
	if g.plane, err = plane.Up(ctx, options); err != nil {
		return nil, err
	}
	if err := g.connect(ctx, filepath.Join(s.temp, name+".counted")); err != nil {
		return nil, errors.Join(err, g.down(ctx))
	}
	// No tool is charged with the definition that two of them need.
	install := invocation{
		tool: tool{program: "muster"},
		args: []string{"install-resource-group"},
		mode: timing,
	}
	if _, err := s.command(ctx, g, install); err != nil {
		return nil, errors.Join(err, g.down(ctx))
	}
	return g, nil
}

func (g *ground) connect(ctx context.Context, counted string) (err error) {
	if g.config, err = clientcmd.BuildConfigFromFlags("", g.plane.Kubeconfig()); err != nil {
		return err
	}
	g.config.QPS = -1
	if g.counter, err = newCounter(g.config, counted); err != nil {
		return err
	}
	config := rest.CopyConfig(g.config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	if g.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	all := g.plane.Status(ctx)
	i := slices.IndexFunc(
		all,
		func(c plane.ComponentStatus) bool { return c.Name == "kube-apiserver" },
	)
	if i < 0 {
		return errors.New("the plane has no kube-apiserver")
	}
	g.server, err = process.NewProcessWithContext(ctx, int32(all[i].PID))
	return err
}

// down ends the plane, also after the context has ended.
func (g *ground) down(ctx context.Context) error {
	if g.counter != nil {
		g.counter.close()
	}
	return g.plane.Down(context.WithoutCancel(ctx))
}

// cpu returns the CPU time of the API server so far, user and system, in seconds.
func (g *ground) cpu(ctx context.Context) (float64, error) {
	times, err := g.server.TimesWithContext(ctx)
	if err != nil {
		return 0, fmt.Errorf("CPU time of the API server: %w", err)
	}
	return times.User + times.System, nil
}

// makeNamespaces makes those that there are not yet, and waits until what is made in them by others
// is there.
func (g *ground) makeNamespaces(ctx context.Context, names []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		group.Go(func() error {
			made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			_, err := g.client.CoreV1().Namespaces().Create(ctx, made, metav1.CreateOptions{})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return err
			}
			return poll(ctx, func() (bool, error) {
				_, first := g.client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
				_, second := g.client.CoreV1().
					ConfigMaps(name).
					Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
				if apierrors.IsNotFound(first) || apierrors.IsNotFound(second) {
					return false, nil
				}
				return true, errors.Join(first, second)
			})
		})
	}
	return group.Wait()
}

// settle waits until the controllers have removed what they made for the objects of packages in a
// namespace.
func (g *ground) settle(ctx context.Context, home string) error {
	of := metav1.ListOptions{Limit: 1, LabelSelector: "set=" + home + "-bench"}
	return poll(ctx, func() (bool, error) {
		sets, first := g.client.AppsV1().ReplicaSets("").List(ctx, of)
		pods, second := g.client.CoreV1().Pods("").List(ctx, of)
		if err := errors.Join(first, second); err != nil {
			return false, err
		}
		return len(sets.Items) == 0 && len(pods.Items) == 0, nil
	})
}

// idle is below what share of a core the API server has nothing to do.
const idle = 0.15

// rest waits until the API server is idle, and returns the CPU time that it had used by
// then, in seconds.
func (g *ground) rest(ctx context.Context) (float64, error) {
	before, err := g.cpu(ctx)
	if err != nil {
		return 0, err
	}
	err = pollEvery(ctx, time.Second, func() (bool, error) {
		now, err := g.cpu(ctx)
		if err != nil || now-before < idle {
			return true, err
		}
		before = now
		return false, nil
	})
	return before, err
}

// poll asks five times a second until the answer is yes, or an error.
func poll(ctx context.Context, ask func() (bool, error)) error {
	return pollEvery(ctx, 200*time.Millisecond, ask)
}

func pollEvery(ctx context.Context, pause time.Duration, ask func() (bool, error)) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		if done, err := ask(); done || err != nil {
			return err
		}
	}
}
