package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// List gives all objects of a kind in a namespace, or in all of them if it is empty.
func (c *Client) List(ctx context.Context, gk schema.GroupKind, namespace string) ([]*unstructured.Unstructured, error) {
	kind, err := c.Kind(ctx, gk)
	if err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	options := metav1.ListOptions{Limit: pageSize}
	for {
		var page *unstructured.UnstructuredList
		err := c.retry(ctx, func() (err error) {
			page, err = c.in(kind.Resource, namespace).List(ctx, options)
			return err
		})
		if err != nil {
			return nil, c.explain(err)
		}
		for i := range page.Items {
			found = append(found, &page.Items[i])
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return found, nil
		}
	}
}
