package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/object"
)

// Method is the verb of a write.
type Method string

// The methods.
const (
	Create  Method = "create"
	Patch   Method = "patch"
	Apply   Method = "apply"   // server-side apply
	Replace Method = "replace" // the full object; its resource version and UID are preconditions
)

// Write is one object to write.
type Write struct {
	Object      *unstructured.Unstructured // the content; for Patch it only names the object
	Method      Method
	Subresource string
	PatchType   types.PatchType // for Patch
	Patch       []byte
	UID         types.UID // precondition of Patch and Apply; empty is any
	Version     string    // the same: the resource version; empty is any
	Manager     string    // field manager
	Force       bool      // take over fields of other managers (Apply)
	DryRun      bool      // server-side dry run
	// FieldValidation is what the server does about unknown and repeated fields of the content:
	// Strict, Warn or Ignore. Empty is the server's default, Warn.
	FieldValidation string
	StreamOnce      bool // a broken stream is the answer of this server: it is not repeated
}

// Delete is one object to delete.
type Delete struct {
	Ref         object.Ref
	UID         types.UID // precondition; empty is any
	Version     string    // precondition: resource version; empty is any
	Propagation metav1.DeletionPropagation
	DryRun      bool
	Missing     bool // an object that did not exist is an error: NotFound
}

// trialRetries are the errors that a dry run retries beyond those of reads. A webhook that cannot
// be called is left to the caller: nothing that the run deploys can help, and each call may take
// half a minute.
var trialRetries = []answer{quotaConflict}

// maxTrial is how long the calls of a webhook by a dry run may take until it is not called again.
const maxTrial = 2 * time.Second

// Write sends one object and returns the stored one. A created object has no managed fields: their
// manager is that of the write.
func (c *Client) Write(ctx context.Context, w Write) (*unstructured.Unstructured, error) {
	resource, err := c.resource(ctx, w.Object.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	ctx = about(ctx, object.RefOf(w.Object))
	var stored *unstructured.Unstructured
	answerLost := false
	generates := w.Method == Create && w.Object.GetName() == "" && !w.DryRun
	var unsafe, broken error // errors that are not retried: a retry might create a second object
	more, began := transientErrors, time.Now()
	if w.DryRun {
		more = trialRetries
	}
	err = c.retry(ctx, func() error {
		if !w.DryRun {
			if err := Permit(ctx); err != nil {
				return err
			}
		}
		stored, err = c.send(ctx, resource, w)
		err = c.overtaken(ctx, resource, w, uidConflict(resource, w, err))
		switch {
		case generates && maybeStored(err):
			unsafe = err
			return nil
		case w.StreamOnce && BrokenStream(err),
			w.DryRun && WebhookUnavailable(err) && time.Since(began) > maxTrial:
			broken = err
			return nil
		}
		switch {
		case !answerLost:
		case w.Method == Create && apierrors.IsAlreadyExists(err):
			stored, err = c.ours(ctx, resource, w.Object, err, marked)
		case w.Method == Replace && apierrors.IsConflict(err):
			stored, err = c.ours(ctx, resource, w.Object, err, w.isStored)
		}
		answerLost = answerLost || maybeStored(err) || apierrors.IsInternalError(err)
		return err
	}, more...)
	if broken != nil {
		err = broken
	}
	if unsafe != nil {
		return nil, &ambiguousError{c.explain(unsafe), lookup(resource, w.Object)}
	}
	if err == nil || apierrors.IsAlreadyExists(err) {
		c.markServed(w.Object.GroupVersionKind())
	}
	if err != nil && answerLost {
		return nil, &ambiguousError{cause: c.explain(err)}
	}
	if err != nil {
		return nil, c.explain(err)
	}
	return stored, nil
}

// lookup returns the command that lists the objects like one whose name the server generates.
func lookup(resource schema.GroupVersionResource, obj *unstructured.Unstructured) string {
	command := "kubectl get " + resource.GroupResource().String()
	if namespace := obj.GetNamespace(); namespace != "" {
		command += " -n " + namespace
	}
	if len(obj.GetLabels()) > 0 {
		command += " -l " + labels.FormatLabels(obj.GetLabels())
	}
	return command
}

// ours returns the live object of a write whose first answer was lost, if it is the one that was
// sent. Otherwise it returns the refusal of the second attempt.
func (c *Client) ours(
	ctx context.Context, resource schema.GroupVersionResource, sent *unstructured.Unstructured,
	refused error, isSent func(sent, live *unstructured.Unstructured) bool,
) (*unstructured.Unstructured, error) {
	live, err := getWithRetry(ctx, c, func() (*unstructured.Unstructured, error) {
		return c.of(resource, sent.GetNamespace(), false).Get(ctx, sent.GetName(), metav1.GetOptions{})
	})
	if err != nil {
		return nil, errors.Join(refused, err)
	}
	if !isSent(sent, live) {
		return nil, refused
	}
	return live, nil
}

// marked reports whether a live object has all labels and annotations of the one that was sent.
func marked(sent, live *unstructured.Unstructured) bool {
	return within(sent.GetAnnotations(), live.GetAnnotations()) &&
		within(sent.GetLabels(), live.GetLabels())
}

// isStored reports whether a live object has the content that a Replace sent: its status, or else
// its labels, annotations and all other fields.
func (w Write) isStored(sent, live *unstructured.Unstructured) bool {
	if sent.GetUID() != live.GetUID() {
		return false
	}
	if w.Subresource != "" {
		return reflect.DeepEqual(sent.Object[w.Subresource], live.Object[w.Subresource])
	}
	content := func(obj *unstructured.Unstructured) map[string]any {
		fields := maps.Clone(obj.Object)
		delete(fields, "metadata")
		delete(fields, "status")
		return fields
	}
	return maps.Equal(sent.GetLabels(), live.GetLabels()) &&
		maps.Equal(sent.GetAnnotations(), live.GetAnnotations()) &&
		reflect.DeepEqual(content(sent), content(live))
}

func within(part, whole map[string]string) bool {
	for key, value := range part {
		if whole[key] != value {
			return false
		}
	}
	return true
}

func (c *Client) send(
	ctx context.Context, resource schema.GroupVersionResource, w Write,
) (*unstructured.Unstructured, error) {
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
		return client.Create(
			ctx,
			w.Object,
			metav1.CreateOptions{FieldManager: w.Manager, DryRun: dryRun,
				FieldValidation: w.FieldValidation},
			subresources...)
	case Replace:
		return client.Update(
			ctx,
			w.Object,
			metav1.UpdateOptions{FieldManager: w.Manager, DryRun: dryRun,
				FieldValidation: w.FieldValidation},
			subresources...)
	case Patch:
		data, err := withPreconditions(w.Patch, w.UID, w.Version)
		if err != nil {
			return nil, err
		}
		options := metav1.PatchOptions{FieldManager: w.Manager, DryRun: dryRun,
			FieldValidation: w.FieldValidation}
		return client.Patch(ctx, w.Object.GetName(), w.PatchType, data, options, subresources...)
	case Apply:
		data, err := w.Object.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("encode the object: %w", err)
		}
		if data, err = withPreconditions(data, w.UID, w.Version); err != nil {
			return nil, err
		}
		options := metav1.PatchOptions{
			FieldManager: w.Manager, Force: new(w.Force), DryRun: dryRun,
			FieldValidation: w.FieldValidation,
		}
		return client.Patch(
			ctx, w.Object.GetName(), types.ApplyPatchType, data, options, subresources...,
		)
	default:
		return nil, fmt.Errorf("unknown method %q", w.Method)
	}
}

// Delete requests one deletion. gone reports that the object does not exist any more: it did not,
// or the server removed it before it answered. It returns an error for an object with another UID,
// which stays.
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
	if d.UID != "" || d.Version != "" {
		options.Preconditions = &metav1.Preconditions{}
	}
	if d.UID != "" {
		options.Preconditions.UID = &d.UID
	}
	if d.Version != "" {
		options.Preconditions.ResourceVersion = &d.Version
	}
	if d.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	body, err := json.Marshal(options)
	if err != nil {
		return false, err
	}
	var answer []byte
	attempts := 0
	err = c.retry(ctx, func() error {
		if !d.DryRun {
			if err := Permit(ctx); err != nil {
				return err
			}
		}
		attempts++
		result := c.rest.Delete().
			AbsPath(root(kind.Resource.GroupVersion())).
			NamespaceIfScoped(d.Ref.Namespace, d.Ref.Namespace != "").
			Resource(kind.Resource.Resource).
			Name(d.Ref.Name).
			SetHeader("Content-Type", runtime.ContentTypeJSON).
			Body(body).
			Do(ctx)
		if err := result.Error(); err != nil {
			return err
		}
		answer, _ = result.Raw()
		return nil
	})
	if apierrors.IsNotFound(err) && !isNotServed(err) {
		if d.Missing && attempts == 1 { // else this call may have deleted it
			return true, err
		}
		return true, nil
	}
	if err != nil {
		return false, c.explain(err)
	}
	return !d.DryRun && removed(answer), nil
}

// root returns the API path of a group version.
func root(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.String()
}

// removed reports whether the answer to a deletion says that the object was removed. Such an answer
// is a Status with the UID of the object. While the deletion is in progress the answer is the
// object.
func removed(answer []byte) bool {
	var status struct {
		Kind, Status string
		Details      struct{ UID types.UID }
	}
	return json.Unmarshal(answer, &status) == nil && status.Kind == "Status" &&
		status.Status == metav1.StatusSuccess &&
		status.Details.UID != ""
}

// resource returns the resource to write objects of a kind and version to.
func (c *Client) resource(
	ctx context.Context, gvk schema.GroupVersionKind,
) (schema.GroupVersionResource, error) {
	kind, err := c.Kind(ctx, gvk.GroupKind())
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	resource := kind.Resource
	resource.Version = gvk.Version
	return resource, nil
}

// The values of Write.FieldValidation.
const (
	FieldsStrict = "Strict"
	FieldsIgnore = "Ignore"
)

// The marks of the server's refusals of unknown and repeated fields: by strict validation, before
// the list of these, and by a server-side apply.
const strictMark, undeclaredMark = "strict decoding error: ", ": field not declared in schema"

// FieldsUnknown reports whether the server refused a write because it does not know a field, or
// because a field is repeated.
func FieldsUnknown(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return false
	}
	text := err.Error()
	return apierrors.IsBadRequest(err) && strings.Contains(text, strictMark) || FieldsUndeclared(err)
}

// FieldsUndeclared reports whether the server refused a server-side apply because its definition of
// the kind does not have a field.
func FieldsUndeclared(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && strings.Contains(err.Error(), undeclaredMark)
}

// unreadableMark is the mark of the server's refusals of content that its type cannot hold.
const unreadableMark = " cannot be handled as a"

// Unreadable reports whether the server refused a write because it cannot read the content, such as
// a number where a text has to be. Webhooks, which may refuse anything, do not count.
func Unreadable(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), unreadableMark)
}
