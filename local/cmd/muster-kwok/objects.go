package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/local/kubelet"
)

const (
	// provisioner names the simulated provisioner of volumes, in storage classes and in the stages.
	provisioner = "local.muster.dev/volumes"
	// podRange is where pods on nodes without a range of their own have addresses.
	podRange = "10.127.0.0/16"
	// realNodes selects the nodes that have a kubelet of their own, simulatedNodes the others.
	realNodes      = kubelet.RealNode + "=true"
	simulatedNodes = kubelet.RealNode + "!=true"
)

// makeObjects makes the nodes, storage classes and policies that are missing.
func (s *simulator) makeObjects(ctx context.Context) error {
	classes := map[string]storagev1.VolumeBindingMode{
		"standard":      storagev1.VolumeBindingImmediate,
		"standard-wait": storagev1.VolumeBindingWaitForFirstConsumer,
	}
	for name, mode := range classes {
		if err := s.makeClass(ctx, name, mode, name == "standard"); err != nil {
			return fmt.Errorf("make storage class %s: %w", name, err)
		}
	}
	for i := range s.options.nodes {
		if err := s.makeNode(ctx, i); err != nil {
			return fmt.Errorf("make node %d: %w", i, err)
		}
	}
	if err := s.makeJobPolicy(ctx); err != nil {
		return err
	}
	if err := s.removeNodes(ctx); err != nil {
		return err
	}
	return s.moveNodes(ctx)
}

func (s *simulator) makeClass(
	ctx context.Context,
	name string,
	mode storagev1.VolumeBindingMode,
	isDefault bool,
) error {
	class := &storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{Name: name},
		Provisioner:       provisioner,
		ReclaimPolicy:     new(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode: &mode,
	}
	if isDefault {
		class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	}
	_, err := s.client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{})
	return ignoreExisting(err)
}

func (s *simulator) makeNode(ctx context.Context, i int) error {
	name := fmt.Sprintf("node-%d", i)
	cidr := net.IPNet{
		IP:   net.IPv4(10, byte(128+i/256), byte(i%256), 0).To4(),
		Mask: net.CIDRMask(24, 32),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:   name,
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: "amd64",
			},
		},
		Spec: corev1.NodeSpec{PodCIDR: cidr.String(), PodCIDRs: []string{cidr.String()}},
	}
	_, err := s.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	return ignoreExisting(err)
}

// removeNodes removes the real nodes that an earlier start had and this one does not have.
func (s *simulator) removeNodes(ctx context.Context) error {
	client := s.client.CoreV1().Nodes()
	nodes, err := client.List(ctx, metav1.ListOptions{LabelSelector: realNodes})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for _, node := range nodes.Items {
		number, ours := strings.CutPrefix(node.Name, "real-")
		if i, err := strconv.Atoi(number); !ours || err != nil || i < s.options.real {
			continue
		}
		err := client.Delete(ctx, node.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove node %s: %w", node.Name, err)
		}
	}
	return nil
}

// moveNodes updates the port of the kubelets in the nodes of an earlier start.
func (s *simulator) moveNodes(ctx context.Context) error {
	nodes, err := s.client.CoreV1().
		Nodes().
		List(ctx, metav1.ListOptions{LabelSelector: simulatedNodes})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	endpoint := corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(s.port)}}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"daemonEndpoints": endpoint}})
	if err != nil {
		return fmt.Errorf("move nodes: %w", err)
	}
	for _, node := range nodes.Items {
		if len(node.Status.Addresses) == 0 || node.Status.DaemonEndpoints == endpoint {
			continue
		}
		_, err := s.client.CoreV1().
			Nodes().
			Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		if err != nil {
			return fmt.Errorf("move node %s: %w", node.Name, err)
		}
	}
	return nil
}

func ignoreExisting(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
