package cluster

import (
	"bufio"
	"context"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
)

// descendants are the kinds of objects that controllers make for a kind, directly or not.
func descendants(gk schema.GroupKind) []schema.GroupKind {
	pod, replicaSet := schema.GroupKind{Kind: "Pod"}, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
	switch gk.String() {
	case "Deployment.apps":
		return []schema.GroupKind{replicaSet, pod}
	case "ReplicaSet.apps", "StatefulSet.apps", "DaemonSet.apps", "Job.batch", "ReplicationController":
		return []schema.GroupKind{pod}
	default:
		return nil
	}
}

// Family gives what is known around an object for explaining its state: the objects that its controllers made, found by
// the object's own selector, and the Warning events about any of them, a page at the most. What may not be read is left
// out.
func (c *Client) Family(ctx context.Context, obj *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	namespace := obj.GetNamespace()
	events := metav1.ListOptions{Limit: pageSize, FieldSelector: fields.Set{"type": "Warning", "involvedObject.uid": string(obj.GetUID())}.String()}
	var family []*unstructured.Unstructured
	if kinds := descendants(obj.GroupVersionKind().GroupKind()); len(kinds) > 0 {
		selector, ok := selectorOf(obj)
		if !ok {
			return nil, nil
		}
		for _, gk := range kinds {
			members, err := c.members(ctx, gk, namespace, metav1.ListOptions{Limit: pageSize, LabelSelector: selector})
			if err != nil {
				return nil, err
			}
			family = append(family, members...)
		}
		events.FieldSelector = fields.Set{"type": "Warning"}.String() // of all of them, in one request
	}
	members, err := c.members(ctx, schema.GroupKind{Kind: "Event"}, namespace, events)
	return append(family, members...), err
}

// members is one page of a list, empty where it may not be read.
func (c *Client) members(ctx context.Context, gk schema.GroupKind, namespace string, o metav1.ListOptions) ([]*unstructured.Unstructured, error) {
	kind, err := c.Kind(ctx, gk)
	if err != nil {
		return nil, err
	}
	resource := kind.Resource
	if gk.Kind == "Event" {
		resource = schema.GroupVersionResource{Version: "v1", Resource: "events"} // the version whose fields are selected on
	}
	page, err := c.in(resource, namespace).List(ctx, o)
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, c.explain(err)
	}
	found := make([]*unstructured.Unstructured, len(page.Items))
	for i := range page.Items {
		found[i] = &page.Items[i]
	}
	return found, nil
}

// selectorOf reads spec.selector: a label selector, or the plain map of a ReplicationController.
func selectorOf(obj *unstructured.Unstructured) (string, bool) {
	spec, _, _ := unstructured.NestedMap(obj.Object, "spec", "selector")
	if len(spec) == 0 {
		return "", false
	}
	if obj.GetKind() == "ReplicationController" {
		spec = map[string]any{"matchLabels": spec}
	}
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &selector); err != nil {
		return "", false
	}
	return metav1.FormatLabelSelector(&selector), true
}

// Log gives the last lines of a container's log, of its present run or the one before; none where there is none, or where
// it may not be read.
func (c *Client) Log(ctx context.Context, pod object.Ref, container string, previous bool, lines int64) []string {
	stream, err := c.discovery.RESTClient().Get().
		AbsPath("/api/v1/namespaces", pod.Namespace, "pods", pod.Name, "log").
		Param("container", container).
		Param("tailLines", strconv.FormatInt(lines, 10)).
		Param("previous", strconv.FormatBool(previous)).
		Stream(ctx)
	if err != nil {
		return nil
	}
	defer stream.Close()
	var found []string
	for scanner := bufio.NewScanner(stream); scanner.Scan() && int64(len(found)) < lines; {
		found = append(found, strings.TrimRight(scanner.Text(), " \t\r"))
	}
	return found
}
