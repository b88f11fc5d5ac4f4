package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// crd is the kind that is checked.
var crd = schema.GroupVersionKind{
	Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition",
}

// definition is the part of a definition that the check reads.
type definition struct {
	Spec struct {
		Scope    string `json:"scope"`
		Versions []struct {
			Name   string `json:"name"`
			Schema struct {
				Properties map[string]any `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
	Status struct {
		StoredVersions []string `json:"storedVersions"`
	} `json:"status"`
}

// checkDefinitions compares each definition with the one in the cluster.
func checkDefinitions(ctx context.Context, subjects []PlannedWrite, deps Cluster) error {
	var applied []*unstructured.Unstructured
	for _, s := range subjects {
		if obj := s.object(); !s.Delete && obj.GroupVersionKind() == crd {
			applied = append(applied, obj)
		}
	}
	unsafe := make([]error, len(applied))
	err := forEach(ctx, len(applied), func(i int) (err error) {
		unsafe[i], err = checkDefinition(ctx, applied[i], deps)
		return err
	})
	if err != nil {
		return err
	}
	if err := errors.Join(unsafe...); err != nil {
		return fmt.Errorf("validation for safe CRD upgrades failed\n%w", err)
	}
	return nil
}

// checkDefinition returns the reasons why an upgrade is unsafe; err is the error of the check
// itself.
func checkDefinition(ctx context.Context, obj *unstructured.Unstructured, deps Cluster) (
	unsafe, err error) {
	live, err := deps.Get(ctx, crd, "", obj.GetName())
	if err != nil {
		return nil, fmt.Errorf("checking for existing CRD resource: %w", err)
	}
	if live == nil {
		return nil, nil
	}
	var before, after definition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &before); err != nil {
		return nil, fmt.Errorf("couldn't convert old CRD resource to a CRD object: %w", err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &after); err != nil {
		return nil, fmt.Errorf("couldn't convert new CRD resource to a CRD object: %w", err)
	}
	var found []error
	if before.Spec.Scope != after.Spec.Scope {
		found = append(found, violation(obj, "NoScopeChange", "scope changed from %q to %q",
			before.Spec.Scope, after.Spec.Scope))
	}
	if removed := removedVersion(before, after); removed != "" {
		found = append(found,
			violation(obj, "NoStoredVersionRemoved", "stored version %q removed", removed))
	}
	if err := removedFields(obj.GetName(), before, after); err != nil {
		found = append(found, violation(obj, "NoExistingFieldRemoved", "%w", err))
	}
	if err := changedFields(before, after); err != nil {
		found = append(found, violation(obj, "ChangeValidator", "%w", err))
	}
	return errors.Join(found...), nil
}

// removedVersion returns the first stored version that the new definition does not have, or "".
func removedVersion(before, after definition) string {
	kept := map[string]bool{}
	for _, version := range after.Spec.Versions {
		kept[version.Name] = true
	}
	if i := slices.IndexFunc(before.Status.StoredVersions,
		func(stored string) bool { return !kept[stored] }); i >= 0 {
		return before.Status.StoredVersions[i]
	}
	return ""
}

func violation(obj *unstructured.Unstructured, check, format string, args ...any) error {
	return fmt.Errorf("CustomResourceDefinition %s failed upgrade safety validation. %q validation "+
		"failed: %w",
		obj.GetName(), check, fmt.Errorf(format, args...))
}
