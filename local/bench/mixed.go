package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// mixed creates objects of many kinds that are ready at once, applies them again, applies them with one per cent of them
// changed, and destroys them. In a first round requests are counted and times are not, since showing requests takes time.
func mixed(ctx context.Context, s *site) ([]*Result, error) {
	var results resultSet
	for round := range s.rounds + 1 {
		for _, t := range rotated(s.tools, round) {
			fmt.Fprintf(os.Stderr, "bench: mixed, round %d of %d, %s\n", round, s.rounds, t.name)
			if err := s.mixedRound(ctx, t, round, &results); err != nil {
				return results.inOrder(s.tools), err
			}
		}
	}
	return results.inOrder(s.tools), nil
}

// rotated begins with another tool in every round.
func rotated(tools []tool, round int) []tool {
	at := round % len(tools)
	return slices.Concat(tools[at:], tools[:at])
}

func (s *site) mixedRound(ctx context.Context, t tool, round int, results *resultSet) error {
	p, client, err := s.newPack(ctx, fmt.Sprintf("mixed-%s-%d", t.name, round))
	if err != nil {
		return err
	}
	for _, step := range [...]struct {
		name    string
		args    []string
		edition int
		repeats bool
	}{
		{"create", t.apply, 1, false},
		{"again", t.apply, 1, true},
		{"1% changed", t.apply, 2, true},
		{"destroy", t.destroy, 2, false},
	} {
		if step.repeats && t.once {
			continue
		}
		if err := p.write(shapes, s.objects, step.edition); err != nil {
			return err
		}
		args := p.fill(step.args)
		if round == 0 {
			args = append(args, t.trace...)
		}
		done, err := s.command(ctx, t.program, args, nil)
		if err != nil {
			return err
		}
		result := results.of(s, t, step.name)
		if round == 0 {
			result.Requests = done.requests.verbs
		} else {
			result.Samples = append(result.Samples, done.Sample)
		}
	}
	return settle(ctx, client, p.namespace)
}

// newPack makes a namespace and an empty package in it.
func (s *site) newPack(ctx context.Context, namespace string) (*pack, kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, made, metav1.CreateOptions{}); err != nil {
		return nil, nil, err
	}
	p, err := newPack(filepath.Join(s.temp, namespace), namespace)
	return p, client, err
}

// settle waits until the controllers have removed what they made for objects of a namespace, so that this falls on nobody
// else.
func settle(ctx context.Context, client kubernetes.Interface, namespace string) error {
	for {
		sets, err := client.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return err
		}
		pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return err
		}
		if len(sets.Items) == 0 && len(pods.Items) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
