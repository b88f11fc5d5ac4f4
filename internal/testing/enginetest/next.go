package enginetest

import (
	"errors"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/muster-deploy/muster/internal/builtin"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// next returns the object that a write makes, not yet stored.
func (c *Cluster) next(ref object.Ref, w cluster.Write) (*unstructured.Unstructured, error) {
	live := c.objects[ref]
	served := w.Subresource == "" ||
		w.Subresource == "status" && c.hasStatus(w.Object.GroupVersionKind())
	switch {
	case c.dead:
		return nil, ErrDead
	case !served:
		return nil, apierrors.NewNotFound(resourceOf(ref), ref.Name)
	case live == nil && w.Subresource == "":
		return c.created(ref, w)
	case live == nil:
		return nil, apierrors.NewNotFound(resourceOf(ref), ref.Name)
	case w.Method == cluster.Create:
		if _, err := c.created(ref, w); err != nil {
			return nil, err
		}
		return nil, apierrors.NewAlreadyExists(resourceOf(ref), ref.Name)
	}
	if err := convertible(live, w.Object.GroupVersionKind().Version); err != nil {
		return nil, err
	}
	if err := conflict(ref, w, live); err != nil {
		return nil, err
	}
	next, err := c.sent(w, live)
	if err != nil {
		return nil, err
	}
	return c.updated(ref, w, live, next)
}

// failed returns the error for a request that the server cannot carry out, without a reason.
func failed(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: message,
	}}
}

// created returns the object that a write makes if there is none.
func (c *Cluster) created(ref object.Ref, w cluster.Write) (*unstructured.Unstructured, error) {
	uid := w.UID
	if w.Method == cluster.Replace {
		uid = w.Object.GetUID()
	}
	switch {
	case w.Method == cluster.Patch, w.Method == cluster.Replace && !createdByReplace[ref.GroupKind()]:
		return nil, apierrors.NewNotFound(resourceOf(ref), ref.Name)
	case w.Method != cluster.Create && uid != "":
		return nil, apierrors.NewConflict(resourceOf(ref), ref.Name,
			errors.New("the UID in the precondition is that of no object"))
	case w.Method == cluster.Create && w.Object.GetResourceVersion() != "":
		return nil, failed("resourceVersion should not be set on objects to be created")
	}
	next, err := c.sent(w, nil)
	if err != nil {
		return nil, err
	}
	if c.hasStatus(next.GroupVersionKind()) {
		delete(next.Object, "status")
	}
	next.SetUID(uuid.NewUUID())
	next.SetResourceVersion("")
	next.SetCreationTimestamp(metav1.NewTime(time.Now().Add(c.Ahead)))
	next.SetDeletionTimestamp(nil)
	next.SetDeletionGracePeriodSeconds(nil)
	if !ungenerated[ref.GroupKind()] {
		next.SetGeneration(1)
	}
	name := validation.NameIsDNSSubdomain
	if ref.Group == "rbac.authorization.k8s.io" {
		name = anyPathSegment
	}
	invalid := validation.ValidateObjectMetaAccessor(
		next, ref.Namespace != "", name, field.NewPath("metadata"))
	if len(invalid) > 0 {
		return nil, apierrors.NewInvalid(next.GroupVersionKind().GroupKind(), ref.Name, invalid)
	}
	return tracked(w, nil, next)
}

// conflict returns an error if the UID or the resource version of a write is not that of the live
// object.
func conflict(ref object.Ref, w cluster.Write, live *unstructured.Unstructured) error {
	uids := []types.UID{w.UID}
	versions := []string{w.Version}
	if w.Method == cluster.Replace || w.Method == cluster.Apply {
		uids = append(uids, w.Object.GetUID())
		versions = append(versions, w.Object.GetResourceVersion())
	}
	for _, uid := range uids {
		if uid != "" && uid != live.GetUID() {
			return apierrors.NewConflict(resourceOf(ref), ref.Name, errors.New("the UID is another"))
		}
	}
	for _, version := range versions {
		if version != "" && version != live.GetResourceVersion() {
			return modified(ref)
		}
	}
	return nil
}

// modified returns the conflict of a write that is for another version.
func modified(ref object.Ref) error {
	return apierrors.NewConflict(resourceOf(ref), ref.Name,
		errors.New("the object has been modified"))
}

// sent returns the object that a write sends, or makes of the live one, which may be nil.
func (c *Cluster) sent(w cluster.Write, live *unstructured.Unstructured) (
	*unstructured.Unstructured, error,
) {
	var next *unstructured.Unstructured
	var err error
	switch w.Method {
	case cluster.Patch:
		next, err = patched(live, w)
	case cluster.Apply:
		next, err = c.applied(w, live)
	default:
		next = w.Object.DeepCopy()
	}
	if err != nil {
		return nil, err
	}
	return decoded(w, next)
}

// decoded returns an object as the server reads it: of a built-in kind without unknown fields, and
// with defaults.
func decoded(w cluster.Write, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	gvk := obj.GroupVersionKind()
	if isCustom(gvk) {
		return obj, nil
	}
	if w.FieldValidation == cluster.FieldsStrict && !builtin.Knows(obj.Object) {
		return nil, apierrors.NewBadRequest("strict decoding error: unknown field")
	}
	managed := obj.GetManagedFields()
	normal, known, err := builtin.Normalize(gvk, obj.Object)
	switch {
	case err != nil:
		return nil, apierrors.NewBadRequest(gvk.Kind + " in version \"" + gvk.Version +
			"\" cannot be handled as a " + gvk.Kind + ": " + err.Error())
	case !known:
		return obj, nil
	}
	builtin.SetDefaults(normal)
	next := &unstructured.Unstructured{Object: normal}
	next.SetManagedFields(managed)
	return next, nil
}

// updated returns the object that a write makes of a live one, of what it has sent.
func (c *Cluster) updated(
	ref object.Ref, w cluster.Write, live, next *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	gvk := next.GroupVersionKind()
	version := next.GetResourceVersion()
	byVersion := replacedByVersion[ref.GroupKind()] || isCustom(gvk)
	switch {
	case next.GetName() != live.GetName():
		return nil, apierrors.NewBadRequest("the name of the object does not match the name on the URL")
	case version == "" && byVersion:
		return nil, apierrors.NewInvalid(gvk.GroupKind(), ref.Name, field.ErrorList{field.Invalid(
			field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
	case version != "" && version != live.GetResourceVersion():
		return nil, modified(ref)
	}
	status := c.hasStatus(gvk)
	switch {
	case w.Subresource != "":
		fields := next.GetManagedFields()
		next = withStatus(live, next)
		next.SetManagedFields(fields)
	case status:
		next = withStatus(next, live)
	}
	keepSystemFields(next, live)
	if !ungenerated[ref.GroupKind()] && contentDiffers(live, next, status) {
		next.SetGeneration(live.GetGeneration() + 1)
	}
	next, err := tracked(w, live, next)
	if err != nil {
		return nil, err
	}
	invalid := validation.ValidateObjectMetaAccessorUpdate(next, live, field.NewPath("metadata"))
	if len(invalid) > 0 {
		return nil, apierrors.NewInvalid(gvk.GroupKind(), ref.Name, invalid)
	}
	return next, nil
}

// withStatus returns an object with the status of another one.
func withStatus(obj, from *unstructured.Unstructured) *unstructured.Unstructured {
	next := obj.DeepCopy()
	delete(next.Object, "status")
	if status, ok := from.Object["status"]; ok {
		next.Object["status"] = status
	}
	return next
}

// keepSystemFields copies the metadata that only the server sets from the live object.
func keepSystemFields(next, live *unstructured.Unstructured) {
	if next.GetUID() == "" {
		next.SetUID(live.GetUID())
	}
	next.SetResourceVersion(live.GetResourceVersion())
	next.SetCreationTimestamp(live.GetCreationTimestamp())
	next.SetDeletionTimestamp(live.GetDeletionTimestamp())
	next.SetDeletionGracePeriodSeconds(live.GetDeletionGracePeriodSeconds())
	next.SetGeneration(live.GetGeneration())
}

// contentDiffers reports whether objects differ in what increments the generation: more than
// metadata and, if it is a subresource, the status.
func contentDiffers(live, next *unstructured.Unstructured, status bool) bool {
	content := func(obj *unstructured.Unstructured) map[string]any {
		fields := maps.Clone(obj.Object)
		delete(fields, "metadata")
		if name := generatedBy[obj.GroupVersionKind().GroupKind()]; name != "" {
			fields["metadata"], _, _ = unstructured.NestedMap(obj.Object, "metadata", name)
		}
		if status {
			delete(fields, "status")
		}
		return fields
	}
	return !reflect.DeepEqual(content(live), content(next))
}

// anyPathSegment returns what is wrong with the name of an object that may be any part of a path.
func anyPathSegment(name string, _ bool) []string {
	if name == "." || name == ".." || strings.ContainsAny(name, "/%") {
		return []string{"may not be . or .. or have a / or %"}
	}
	return nil
}
