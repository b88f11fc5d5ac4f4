package packages

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages/inventory"
)

// CheckRecordNamespace returns an error unless the namespace of the record exists or is part of the
// package. It costs no request if the record exists.
func (o *Operation) CheckRecordNamespace(ctx context.Context) error {
	home := o.Policy.RecordNamespace
	if o.store.Exists() {
		return nil
	}
	for _, obj := range o.Desired {
		if object.RefOf(obj.Object) == home {
			return nil
		}
	}
	snapshot, err := o.Cluster.Read(ctx, []cluster.Target{{Ref: home}})
	if apierrors.IsForbidden(err) {
		return nil // whoever may not look at namespaces finds out when the record is saved
	}
	if err != nil {
		return fmt.Errorf("look for the namespace of the inventory: %w", err)
	}
	if snapshot.Objects[home] == nil {
		return &inventory.NoNamespaceError{Namespace: home.Name}
	}
	return nil
}
