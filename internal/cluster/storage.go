package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// DelayedBindingClasses returns the names of the storage classes that bind claims when a pod uses
// them. It returns none if the classes must not be read.
func (c *Client) DelayedBindingClasses(ctx context.Context) (map[string]bool, error) {
	classes := schema.GroupVersionResource{
		Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses",
	}
	list, err := getWithRetry(ctx, c, func() (*unstructured.UnstructuredList, error) {
		return c.of(classes, "", false).List(ctx, metav1.ListOptions{})
	})
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, c.explain(fmt.Errorf("list storage classes: %w", err))
	}
	delayed := map[string]bool{}
	for _, class := range list.Items {
		mode, _, _ := unstructured.NestedString(class.Object, "volumeBindingMode")
		delayed[class.GetName()] = mode == "WaitForFirstConsumer"
	}
	return delayed, nil
}
