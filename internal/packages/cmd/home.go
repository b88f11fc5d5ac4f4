package cmd

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// checkHome makes sure, before anything is written or promised, that the namespace of the record exists or is part of the
// package. A record that exists proves it.
func (p *pkg) checkHome(ctx context.Context, client *cluster.Client, store *inventoryStore, home object.Ref) error {
	if store.exists() {
		return nil
	}
	for _, obj := range p.objects {
		if object.RefOf(obj.Unstructured) == home {
			return nil
		}
	}
	snapshot, err := client.Read(ctx, []cluster.Target{{Ref: home}})
	if apierrors.IsForbidden(err) {
		return nil // whoever may not look at namespaces finds out when the record is saved
	}
	if err != nil {
		return fmt.Errorf("look for the namespace of the inventory: %w", err)
	}
	if snapshot.Objects[home] == nil {
		return &noNamespaceError{home.Name}
	}
	return nil
}
