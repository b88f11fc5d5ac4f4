package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/sets/app/lastapplied"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Applied returns the objects of an app as manifests: as they were deployed last, without the marks
// of the app. If that is not recorded, the live object is returned without what the server writes.
// Labels of the app on pod templates and in selectors stay: pods have them. Versioned objects keep
// the names of their versions and are no longer versioned. An app that may have objects which
// cannot be listed is a *HiddenError.
func (c *Client) Applied(ctx context.Context, name Name) ([]*unstructured.Unstructured, error) {
	target, found, _, hidden, err := c.seen(ctx, name, SearchOptions{})
	if err = cmp.Or(err, hidden); err != nil {
		return nil, err
	}
	key, _, err := target.Label()
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, live := range WithoutTransient(found) {
		objects = append(objects, applied(live, key))
	}
	return objects, nil
}

// versionMarks are the annotations that make kapp keep versions of an object.
var versionMarks = []string{
	resource.AnnVersioned, resource.AnnVersionedKeep, resource.AnnNumVersions,
}

// applied returns a live object as a manifest. Key is that of the label of its app.
func applied(live liveObject, key string) *unstructured.Unstructured {
	obj := lastapplied.Original(live)
	if obj == nil {
		obj = live.DeepCopy()
		for _, field := range diff.ServerFields(obj.Object) {
			unstructured.RemoveNestedField(obj.Object, strings.Split(field, ".")...)
		}
	}
	obj.SetNamespace(live.GetNamespace())
	lastapplied.Strip(obj)
	annotations, labels := obj.GetAnnotations(), obj.GetLabels()
	for _, mark := range append(slices.Clone(versionMarks), lastapplied.Annotations()...) {
		delete(annotations, mark)
	}
	delete(annotations, resource.AnnKubectlApplied)
	for _, label := range []string{key, resource.LabelAssociation} {
		delete(labels, label)
	}
	setOrRemove(obj, "annotations", annotations)
	setOrRemove(obj, "labels", labels)
	return obj
}

// setOrRemove sets a map in the metadata of an object, or removes an empty one.
func setOrRemove(obj *unstructured.Unstructured, field string, values map[string]string) {
	if len(values) == 0 {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
		return
	}
	_ = unstructured.SetNestedStringMap(obj.Object, values, "metadata", field) // metadata is a map
}

// MembersError reports an app whose record cannot be deleted, because objects carry its label.
type MembersError struct{ Objects []string }

func (e *MembersError) Error() string {
	return fmt.Sprintf("%d objects still belong to it, as %s", len(e.Objects), e.Objects[0])
}

// Forget deletes the record of an app and those of its deployments. It fails with a *MembersError
// if an object of the app is left: nothing would find it any more. An app that does not exist is no
// error.
func (c *Client) Forget(ctx context.Context, name Name) error {
	target, err := c.Find(ctx, name)
	if err != nil || !target.Exists() {
		return err
	}
	var unlisted []error
	found, err := c.Objects(ctx, target, SearchOptions{RecordedKinds: true}, false,
		func(k cluster.UnlistedKind) {
			err := fmt.Errorf("objects of the kind %s cannot be listed", k.GroupKind)
			if k.Cause != nil {
				err = fmt.Errorf("%w: %w", err, k.Cause)
			}
			unlisted = append(unlisted, err)
		})
	if err = errors.Join(append(unlisted, err)...); err != nil {
		return err
	}
	if left := WithoutTransient(found); len(left) > 0 {
		return &MembersError{describeAll(left)}
	}
	return target.Delete(ctx)
}
