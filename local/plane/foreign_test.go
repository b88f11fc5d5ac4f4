package plane_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// A node that has a kubelet of its own, and the pods on it, are left to that kubelet.
func foreignNode(t *testing.T, client kubernetes.Interface) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "foreign", Labels: map[string]string{"local.muster.dev/real": "true"},
	}}
	nodes := client.CoreV1().Nodes()
	if _, err := nodes.Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, nodes.Delete, "foreign") })
	for name, on := range map[string]string{"on-foreign": "foreign", "on-simulated": "node-0"} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PodSpec{
				NodeName:   on,
				Containers: []corev1.Container{{Name: "main", Image: "example/app:1"}},
			},
		}
		if _, err := client.CoreV1().Pods(space).Create(t.Context(), pod,
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// A node that the simulation takes over becomes ready as fast as this one does.
	other := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "made"},
		Spec:       corev1.NodeSpec{Unschedulable: true}, // pods of other tests stay away
	}
	if _, err := nodes.Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, nodes.Delete, "made") })
	podUntil(t, client, "on-simulated", "Running, Ready=True, main running restarts 0")
	eventually(t, "node made", func(ctx context.Context) error {
		got, err := nodes.Get(ctx, "made", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(got.Status.Conditions) == 0 {
			return fmt.Errorf("it has no conditions")
		}
		return nil
	})
	got, err := nodes.Get(t.Context(), "foreign", metav1.GetOptions{})
	if err != nil || len(got.Status.Addresses) > 0 {
		t.Errorf("its status is %+v, %v", got.Status, err)
	}
	_, err = client.CoordinationV1().
		Leases(corev1.NamespaceNodeLease).
		Get(t.Context(), "foreign", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("its lease: %v", err)
	}
	podUntil(t, client, "on-foreign", "Pending")
}

// remove deletes an object at once.
func remove(
	t *testing.T,
	del func(context.Context, string, metav1.DeleteOptions) error,
	name string,
) {
	t.Helper()
	if err := del(context.Background(), name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}
