package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
