package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/muster-deploy/muster/internal/object"
)

// Method is how an object is written.
type Method string

// The methods.
const (
	Create  Method = "create"
	Patch   Method = "patch"
	Apply   Method = "apply"   // server-side apply
	Replace Method = "replace" // all of the object, with its resource version and its UID, if it has one, as preconditions
)

// Write is one object to be written.
type Write struct {
	Object      *unstructured.Unstructured // what is sent; for Patch it only names the object
	Method      Method
	Subresource string
	PatchType   types.PatchType // for Patch
	Patch       []byte
	UID         types.UID // for Patch and Apply: the object must still be this one; empty is any
	Manager     string    // field manager
	Force       bool      // take over fields of other managers (Apply)
	DryRun      bool      // have the server validate and persist nothing
}

// Delete is one object to be deleted.
type Delete struct {
	Ref         object.Ref
	UID         types.UID // the object must still be this one; empty is any
	Version     string    // and have this resource version; empty is any
	Propagation metav1.DeletionPropagation
	DryRun      bool
}

// Write sends one object and gives it as the server stored it; without who owns which of its fields if it was created, since
// that is the manager of the write alone.
func (c *Client) Write(ctx context.Context, w Write) (*unstructured.Unstructured, error) {
	resource, err := c.resource(ctx, w.Object.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	ctx = about(ctx, object.RefOf(w.Object))
	var stored *unstructured.Unstructured
	answerLost := false
	var twice error // an error after which another request might make a second object
	err = c.retry(ctx, func() error {
		stored, err = c.send(ctx, resource, w)
		if w.Method == Create && w.Object.GetName() == "" && isAnswerLost(err) {
			twice = err
			return nil
		}
		if answerLost && w.Method == Create && apierrors.IsAlreadyExists(err) {
			stored, err = c.ours(ctx, resource, w.Object, err)
		}
		answerLost = answerLost || isAnswerLost(err) || apierrors.IsInternalError(err)
		return err
	}, transientErrors...)
	if twice != nil {
		return nil, &ambiguousError{c.explain(twice)}
	}
	if err == nil || apierrors.IsAlreadyExists(err) {
		c.nowServed(w.Object.GroupVersionKind())
	}
	if err != nil && answerLost {
		return nil, &ambiguousError{c.explain(err)}
	}
	if err != nil {
		return nil, c.explain(err)
	}
	return stored, nil
}

// ours gives the object that exists although we were to create it, if it is the one that we sent before the answer was lost:
// it carries all that ours is marked with. Otherwise the error stands.
func (c *Client) ours(ctx context.Context, resource schema.GroupVersionResource, sent *unstructured.Unstructured, exists error) (*unstructured.Unstructured, error) {
	live, err := c.in(resource, sent.GetNamespace()).Get(ctx, sent.GetName(), metav1.GetOptions{})
	if err != nil {
		return nil, errors.Join(exists, err)
	}
	if !within(sent.GetAnnotations(), live.GetAnnotations()) || !within(sent.GetLabels(), live.GetLabels()) {
		return nil, exists
	}
	return live, nil
}

func within(part, whole map[string]string) bool {
	for key, value := range part {
		if whole[key] != value {
			return false
		}
	}
	return true
}

func (c *Client) send(ctx context.Context, resource schema.GroupVersionResource, w Write) (*unstructured.Unstructured, error) {
	client := c.of(resource, w.Object.GetNamespace(), w.Method != Create)
	var subresources []string
	if w.Subresource != "" {
		subresources = []string{w.Subresource}
	}
	var dryRun []string
	if w.DryRun {
		dryRun = []string{metav1.DryRunAll}
	}
	switch w.Method {
	case Create:
		return client.Create(ctx, w.Object, metav1.CreateOptions{FieldManager: w.Manager, DryRun: dryRun}, subresources...)
	case Replace:
		return client.Update(ctx, w.Object, metav1.UpdateOptions{FieldManager: w.Manager, DryRun: dryRun}, subresources...)
	case Patch:
		data, err := withUID(w.Patch, w.UID)
		if err != nil {
			return nil, err
		}
		options := metav1.PatchOptions{FieldManager: w.Manager, DryRun: dryRun}
		return client.Patch(ctx, w.Object.GetName(), w.PatchType, data, options, subresources...)
	case Apply:
		data, err := w.Object.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("encode the object: %w", err)
		}
		if data, err = withUID(data, w.UID); err != nil {
			return nil, err
		}
		options := metav1.PatchOptions{FieldManager: w.Manager, Force: ptr.To(w.Force), DryRun: dryRun}
		return client.Patch(ctx, w.Object.GetName(), types.ApplyPatchType, data, options, subresources...)
	default:
		return nil, fmt.Errorf("unknown method %q", w.Method)
	}
}

// withUID has the server refuse a patch of another object than the one with the UID.
func withUID(patch []byte, uid types.UID) ([]byte, error) {
	if uid == "" {
		return patch, nil
	}
	var fields map[string]any
	if err := json.Unmarshal(patch, &fields); err != nil {
		return nil, fmt.Errorf("read the patch: %w", err)
	}
	metadata, ok := fields["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
	}
	metadata["uid"] = uid
	fields["metadata"] = metadata
	return json.Marshal(fields)
}

// Delete asks for one deletion; gone means that the object is not there any more: it was not, or the server has removed it before it
// answered. An object of another UID is left alone and is an error.
func (c *Client) Delete(ctx context.Context, d Delete) (gone bool, err error) {
	kind, err := c.Kind(ctx, d.Ref.GroupKind())
	if err != nil {
		return false, err
	}
	ctx = about(ctx, d.Ref)
	options := metav1.DeleteOptions{}
	if d.Propagation != "" {
		options.PropagationPolicy = &d.Propagation
	}
	if d.UID != "" {
		options.Preconditions = &metav1.Preconditions{UID: &d.UID}
	}
	if d.Version != "" {
		options.Preconditions = &metav1.Preconditions{UID: &d.UID, ResourceVersion: &d.Version}
	}
	if d.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	body, err := json.Marshal(options)
	if err != nil {
		return false, err
	}
	var answer []byte
	err = c.retry(ctx, func() error {
		result := c.rest.Delete().AbsPath(root(kind.Resource.GroupVersion())).NamespaceIfScoped(d.Ref.Namespace, d.Ref.Namespace != "").
			Resource(kind.Resource.Resource).Name(d.Ref.Name).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body).Do(ctx)
		if err := result.Error(); err != nil {
			return err
		}
		answer, _ = result.Raw()
		return nil
	})
	if apierrors.IsNotFound(err) && !isNotServed(err) {
		return true, nil
	}
	if err != nil {
		return false, c.explain(err)
	}
	return !d.DryRun && removed(answer), nil
}

// root is the path of a version of the API.
func root(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.String()
}

// removed reports whether the answer to a deletion says that the object has been removed. Such an answer is a status that tells the
// UID of what it was; where there is something to be waited for it is the object.
func removed(answer []byte) bool {
	var status struct {
		Kind, Status string
		Details      struct{ UID types.UID }
	}
	return json.Unmarshal(answer, &status) == nil && status.Kind == "Status" && status.Status == metav1.StatusSuccess && status.Details.UID != ""
}

// resource finds where objects of a kind and version are written.
func (c *Client) resource(ctx context.Context, gvk schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	kind, err := c.Kind(ctx, gvk.GroupKind())
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	resource := kind.Resource
	resource.Version = gvk.Version
	return resource, nil
}
