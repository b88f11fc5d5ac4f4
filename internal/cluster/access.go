package cluster

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Allowed reports whether the server permits the user an action: verb is that of the API
// ("create"), resource a plural name. Empty arguments are left out of the question. It returns an
// error if the server cannot decide.
func (c *Client) Allowed(
	ctx context.Context, verb, group, resource, subresource, namespace, name string,
) (bool, error) {
	attributes := map[string]any{}
	for key, value := range map[string]string{
		"verb": verb, "group": group, "resource": resource, "subresource": subresource,
		"namespace": namespace, "name": name,
	} {
		if value != "" {
			attributes[key] = value
		}
	}
	gvr := schema.GroupVersionResource{
		Group:    "authorization.k8s.io",
		Version:  "v1",
		Resource: "selfsubjectaccessreviews",
	}
	question := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": attributes},
	}}
	var answer *unstructured.Unstructured
	err := c.retry(ctx, func() (err error) {
		answer, err = c.of(gvr, "", false).Create(ctx, question, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return false, c.explain(fmt.Errorf("ask for permission to %s %s: %w", verb, resource, err))
	}
	allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed")
	problem, _, _ := unstructured.NestedString(answer.Object, "status", "evaluationError")
	if problem != "" && !allowed {
		return false, fmt.Errorf("ask for permission to %s %s: %s", verb, resource, problem)
	}
	return allowed, nil
}
