package main

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/muster-deploy/muster/local/kubelet"
)

// Real nodes of an earlier start are removed, and no others.
func TestRemoveNodes(t *testing.T) {
	real := map[string]string{kubelet.RealNode: "true"}
	client := fake.NewClientset()
	for name, labels := range map[string]map[string]string{
		"real-0": real, "real-1": real, "real-2": real, "foreign": real, "real-x": real,
		"node-5": nil, "real-7": nil,
	} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		if err := client.Tracker().Add(node); err != nil {
			t.Fatal(err)
		}
	}
	s := &simulator{options: options{real: 1}, client: client}
	if err := s.removeNodes(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, node := range left.Items {
		names = append(names, node.Name)
	}
	slices.Sort(names)
	want := []string{"foreign", "node-5", "real-0", "real-7", "real-x"}
	if !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}
