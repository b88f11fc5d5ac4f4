package managed

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// manager is the field manager of changes.
const manager = "muster"

// planKey is the key of the Secret that holds a plan.
const planKey = "plan"

// Reconcile asks the controller for a run of the Set; value is any new one.
func Reconcile(ctx context.Context, c cluster.Writer, s *Set, value string) error {
	return patch(ctx, c, s, map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{annotationReconcile: value}},
	})
}

// Suspend lets the controller do nothing about the Set, or ends that.
func Suspend(ctx context.Context, c cluster.Writer, s *Set, suspended bool) error {
	return patch(ctx, c, s, map[string]any{"spec": map[string]any{"suspend": suspended}})
}

// Approve lets the controller run the plan with a digest.
func Approve(ctx context.Context, c cluster.Writer, s *Set, digest string) error {
	return patch(ctx, c, s, map[string]any{"spec": map[string]any{"approve": digest}})
}

// patch changes fields of the Set that was read, and not of another one with its name.
func patch(ctx context.Context, c cluster.Writer, s *Set, fields map[string]any) error {
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	named := &unstructured.Unstructured{}
	named.SetGroupVersionKind(Kind)
	named.SetNamespace(s.Namespace)
	named.SetName(s.Name)
	_, err = c.Write(ctx, cluster.Write{
		Object: named, Method: cluster.Patch, PatchType: types.MergePatchType, Patch: data, UID: s.UID,
		Manager: manager,
	})
	if err != nil {
		return fmt.Errorf("change %s in namespace %s: %w", s.Title(), s.Namespace, err)
	}
	return nil
}

// PlanText returns the text of the last plan, in which the controller has masked the values of
// Secrets. It is empty if there is none, or if it is in another cluster.
func PlanText(ctx context.Context, c cluster.Writer, s *Set) (string, error) {
	if s.Status.Plan.Secret == "" || s.Elsewhere() {
		return "", nil
	}
	ref := object.Ref{Kind: "Secret", Namespace: s.Namespace, Name: s.Status.Plan.Secret}
	read, err := c.Read(ctx, []cluster.Target{{Ref: ref}})
	if err != nil || read.Objects[ref] == nil {
		return "", err
	}
	data, _, err := unstructured.NestedString(read.Objects[ref].Object, "data", planKey)
	if err != nil {
		return "", fmt.Errorf("read the plan: %s has no text in its key %s", ref, planKey)
	}
	text, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return "", fmt.Errorf("read the plan: %s is damaged", ref)
	}
	return string(text), nil
}
