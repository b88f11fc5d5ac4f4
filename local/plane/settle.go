package plane

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/muster-deploy/muster/local/kubelet"
)

// storageClassDefault is the annotation that makes a storage class the default one.
const storageClassDefault = "storageclass.kubernetes.io/is-default-class"

// settle waits until what users expect of a fresh cluster is there. All of it is made by the
// components themselves.
func (p *Plane) settle(ctx context.Context, r *run) error {
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig())
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	for {
		missing := p.missing(ctx, client)
		if missing == nil {
			return nil
		}
		if err := r.ended(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), missing)
		case <-time.After(pollEvery):
		}
	}
}

// missing returns what a ready plane has and this one has not yet.
func (p *Plane) missing(ctx context.Context, client kubernetes.Interface) error {
	accounts := client.CoreV1().ServiceAccounts("default")
	if _, err := accounts.Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return fmt.Errorf("service account default: %w", err)
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	ready := 0
	for _, node := range nodes.Items {
		if usable(&node, p.state.Processes[node.Name]) {
			ready++
		}
	}
	if want := p.state.Nodes + len(p.state.Real); ready < want {
		return fmt.Errorf("%d of %d nodes are ready", ready, want)
	}
	classes, err := client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("storage classes: %w", err)
	}
	for _, class := range classes.Items {
		if class.Annotations[storageClassDefault] == "true" {
			return nil
		}
	}
	return fmt.Errorf("no default storage class")
}

// usable reports whether pods that tolerate real nodes can be scheduled on a node. What a real node
// reported before the start of its process does not count.
func usable(node *corev1.Node, of process) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key != kubelet.RealNode {
			return false
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue &&
				condition.LastHeartbeatTime.Unix() >= of.Started/1000
		}
	}
	return false
}
