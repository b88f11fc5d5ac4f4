package plane_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func loadBalancers(t *testing.T, client kubernetes.Interface) {
	for name, notes := range map[string]map[string]string{"lb": nil,
		"lb-pending": annotations("load-balancer", "pending")} {
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: notes},
			Spec: corev1.ServiceSpec{
				Type:  corev1.ServiceTypeLoadBalancer,
				Ports: []corev1.ServicePort{{Port: 80}},
			},
		}
		if _, err := client.CoreV1().Services(space).Create(t.Context(), service,
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	address := func(ctx context.Context, name string) (string, error) {
		service, err := client.CoreV1().Services(space).Get(ctx, name, metav1.GetOptions{})
		if err != nil || len(service.Status.LoadBalancer.Ingress) == 0 {
			return "", err
		}
		return service.Status.LoadBalancer.Ingress[0].IP, nil
	}
	eventually(t, "address of the load balancer", func(ctx context.Context) error {
		if ip, err := address(ctx, "lb"); err != nil || !strings.HasPrefix(ip, "172.31.") {
			return fmt.Errorf("address %q: %w", ip, err)
		}
		return nil
	})
	// Both were made at the same time, and are worked on in order.
	if ip, err := address(t.Context(), "lb-pending"); err != nil || ip != "" {
		t.Errorf("the pending one has the address %q, %v", ip, err)
	}
}

func volumes(t *testing.T, client kubernetes.Interface) {
	claims := client.CoreV1().PersistentVolumeClaims(space)
	for name, class := range map[string]*string{"now": nil, "late": new("standard-wait")} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
		claim.Spec.StorageClassName = class
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claim.Spec.Resources.Requests = corev1.ResourceList{
			corev1.ResourceStorage: resource.MustParse("1Gi"),
		}
		if _, err := claims.Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	volume := boundTo(t, client, "now")
	stored, err := client.CoreV1().PersistentVolumes().Get(t.Context(), volume, metav1.GetOptions{})
	if err != nil || !strings.HasPrefix(stored.Spec.HostPath.Path, "/var/lib/muster-local/") {
		t.Errorf("the volume is %+v, %v", stored.Spec, err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "consumer"},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "a"}},
			Volumes: []corev1.Volume{{Name: "late", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "late"}}}},
		},
	}
	if _, err := client.CoreV1().Pods(space).Create(t.Context(), pod,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	boundTo(t, client, "late")
	podUntil(t, client, "consumer", "Running, Ready=True, main running restarts 0")
	if err := claims.Delete(t.Context(), "now", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "deletion of the volume", func(ctx context.Context) error {
		_, err := client.CoreV1().PersistentVolumes().Get(ctx, volume, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there: %w", err)
	})
}

// boundTo waits until a claim is bound, and names its volume.
func boundTo(t *testing.T, client kubernetes.Interface, name string) string {
	t.Helper()
	volume := ""
	eventually(t, "claim "+name, func(ctx context.Context) error {
		claim, err := client.CoreV1().PersistentVolumeClaims(space).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		volume = claim.Spec.VolumeName
		if claim.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("it is %s", claim.Status.Phase)
		}
		return nil
	})
	return volume
}
