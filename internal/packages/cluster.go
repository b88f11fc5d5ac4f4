package packages

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/packages/inventory"
)

// Cluster is the part of a cluster that operations on packages need.
type Cluster interface {
	engine.Cluster
	inventory.Cluster
	// LearnKind makes the kind of a definition known before the cluster serves it.
	LearnKind(ctx context.Context, crd *unstructured.Unstructured) error
	// DelayedBindingClasses returns the storage classes that bind a volume when a pod first uses
	// it.
	DelayedBindingClasses(ctx context.Context) (map[string]bool, error)
	// Host returns the address of the API server.
	Host() string
}
