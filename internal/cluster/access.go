package cluster

import (
	"context"
	"fmt"
	"strings"

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
	spec := map[string]any{"resourceAttributes": attributes}
	status, err := c.review(ctx, authorization, "SelfSubjectAccessReview", spec)
	if err != nil {
		return false, c.explain(fmt.Errorf("ask for permission to %s %s: %w", verb, resource, err))
	}
	allowed, _, _ := unstructured.NestedBool(status, "allowed")
	problem, _, _ := unstructured.NestedString(status, "evaluationError")
	if problem != "" && !allowed {
		return false, fmt.Errorf("ask for permission to %s %s: %s", verb, resource, problem)
	}
	return allowed, nil
}

// Rules returns the status of a SelfSubjectRulesReview: the permissions of the user in a namespace.
func (c *Client) Rules(ctx context.Context, namespace string) (map[string]any, error) {
	spec := map[string]any{"namespace": namespace}
	status, err := c.review(ctx, authorization, "SelfSubjectRulesReview", spec)
	if err != nil {
		return nil, c.explain(fmt.Errorf("ask for the permissions in namespace %s: %w", namespace, err))
	}
	return status, nil
}

// User returns the name of the user as the server knows it, by one request.
func (c *Client) User(ctx context.Context) (string, error) {
	status, err := c.review(ctx, "authentication.k8s.io", "SelfSubjectReview", nil)
	if err != nil {
		return "", c.explain(fmt.Errorf("ask for the name of the user: %w", err))
	}
	name, _, _ := unstructured.NestedString(status, "userInfo", "username")
	return name, nil
}

// authorization is the API group of reviews of permissions.
const authorization = "authorization.k8s.io"

// review returns the status of a review, an object that the server answers and does not store. The
// spec may be nil.
func (c *Client) review(
	ctx context.Context, group, kind string, spec map[string]any,
) (status map[string]any, err error) {
	gvr := schema.GroupVersionResource{
		Group: group, Version: "v1", Resource: strings.ToLower(kind) + "s",
	}
	question := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": gvr.GroupVersion().String(), "kind": kind,
	}}
	if spec != nil {
		question.Object["spec"] = spec
	}
	err = c.retry(ctx, func() error {
		answer, err := c.of(gvr, "", false).Create(ctx, question, metav1.CreateOptions{})
		if err == nil {
			status, _, _ = unstructured.NestedMap(answer.Object, "status")
		}
		return err
	})
	return status, err
}
