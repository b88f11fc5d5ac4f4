package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// withPreconditions adds a UID and a resource version to a patch, unless they are empty. The server
// refuses to apply it to another version with a conflict; about another object see uidConflict. All
// other fields keep their bytes: decoding numbers would change large ones.
func withPreconditions(patch []byte, uid types.UID, version string) ([]byte, error) {
	if uid == "" && version == "" {
		return patch, nil
	}
	var fields, metadata map[string]json.RawMessage
	if err := json.Unmarshal(patch, &fields); err != nil {
		return nil, fmt.Errorf("read the patch: %w", err)
	}
	if raw, ok := fields["metadata"]; ok {
		if err := json.Unmarshal(raw, &metadata); err != nil {
			return nil, fmt.Errorf("read the metadata of the patch: %w", err)
		}
	}
	if metadata == nil {
		metadata = map[string]json.RawMessage{}
	}
	for key, value := range map[string]string{"uid": string(uid), "resourceVersion": version} {
		if value == "" {
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		metadata[key] = raw
	}
	raw, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	fields["metadata"] = raw
	return json.Marshal(fields)
}

// uidConflict returns a conflict if the server refused a patch because the UID of its precondition
// is not that of the live object, and other errors unchanged. The server takes the precondition for
// a change of the UID, and calls it invalid.
func uidConflict(resource schema.GroupVersionResource, w Write, err error) error {
	status := apierrors.APIStatus(nil)
	if w.UID == "" || w.Method != Patch && w.Method != Apply || !apierrors.IsInvalid(err) ||
		!errors.As(err, &status) || status.Status().Details == nil {
		return err
	}
	ofUID := func(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" }
	if !slices.ContainsFunc(status.Status().Details.Causes, ofUID) {
		return err
	}
	return apierrors.NewConflict(resource.GroupResource(), w.Object.GetName(),
		errors.New("the object has another UID than the precondition"))
}

// overtaken returns a conflict if the server refused a server-side apply for the fields of other
// managers, and the live object is not that of the preconditions, and other errors unchanged. The
// server judges the managers before the preconditions.
func (c *Client) overtaken(
	ctx context.Context, resource schema.GroupVersionResource, w Write, err error,
) error {
	if w.Method != Apply || w.UID == "" && w.Version == "" ||
		!apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
		return err
	}
	live, failed := getWithRetry(ctx, c, func() (*unstructured.Unstructured, error) {
		return c.of(resource, w.Object.GetNamespace(), false).
			Get(ctx, w.Object.GetName(), metav1.GetOptions{})
	})
	switch {
	case failed != nil && !apierrors.IsNotFound(failed):
		return err
	case failed == nil && (w.UID == "" || live.GetUID() == w.UID) &&
		(w.Version == "" || live.GetResourceVersion() == w.Version):
		return err
	}
	return apierrors.NewConflict(resource.GroupResource(), w.Object.GetName(),
		errors.New("the object is not the one of the precondition"))
}
