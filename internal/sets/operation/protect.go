package operation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// records are the kinds of objects that hold records, with their labels.
var records = []struct {
	kind   schema.GroupKind
	labels map[string]string
}{
	{kind: inventory.ResourceGroupKind.GroupKind()},
	{inventory.ConfigMapKind.GroupKind(), map[string]string{resource.LabelIsApp: ""}},
	{inventory.ConfigMapKind.GroupKind(), map[string]string{inventory.IDKey: cluster.AnyValue}},
	{inventory.ConfigMapKind.GroupKind(), map[string]string{inventory.FirstIDKey: cluster.AnyValue}},
}

// protect returns those deleted objects without which records of others would be lost: namespaces
// that hold such records, and the definition of ResourceGroups while there are any. It lists the
// records only if such an object is to be deleted.
func (o *Operation) protect(
	ctx context.Context, deleted []object.Ref,
) (map[object.Ref]plan.Protection, error) {
	protected := map[object.Ref]plan.Protection{}
	namespaces, defines := map[string]bool{}, false
	for _, ref := range deleted {
		if ref.GroupKind() == plan.NamespaceKind {
			namespaces[ref.Name] = true
		}
		defines = defines || ref == definitionRef
	}
	keepDefinition := func(why string) {
		protected[definitionRef] = plan.Protection{Release: true,
			Reason: "it stays in the cluster, because records of packages are stored in it: " + why}
		defines = false
	}
	if defines && o.format.RecordKind == inventory.ResourceGroupKind.GroupKind() {
		keepDefinition("that of this package is")
	}
	for _, r := range records {
		isGroup := r.kind == inventory.ResourceGroupKind.GroupKind()
		if len(namespaces) == 0 && (!defines || !isGroup) {
			continue
		}
		within := "" // all
		if len(namespaces) == 1 && (!defines || !isGroup) {
			for name := range namespaces {
				within = name
			}
		}
		found, err := o.Cluster.List(ctx, r.kind, within, r.labels)
		why := ""
		switch unknown := (*cluster.UnknownKindError)(nil); {
		case errors.As(err, &unknown) && unknown.Cause == nil:
			continue
		case unknown != nil:
			why = undescribed(err)
		case apierrors.IsForbidden(err):
			why = fmt.Sprintf("you may not list %s there", r.kind)
		case err != nil:
			return nil, fmt.Errorf("look for the records of others: %w", err)
		}
		if why != "" {
			for name := range namespaces {
				protected[namespaceRef(name)] = plan.Protection{
					Reason: "it may hold records of others: " + why}
			}
			if defines && isGroup {
				keepDefinition(cmp.Or(undescribed(err), "you may not list them"))
			}
			continue
		}
		for _, obj := range found {
			ref := object.RefOf(obj)
			if o.format.Record.Holds(obj) || slices.Contains(deleted, ref) {
				continue
			}
			if _, known := protected[namespaceRef(ref.Namespace)]; namespaces[ref.Namespace] && !known {
				protected[namespaceRef(ref.Namespace)] = plan.Protection{
					Reason: "it holds a record of others: " + ref.String()}
			}
			if defines && isGroup {
				keepDefinition(ref.String())
			}
		}
	}
	return protected, nil
}

// undescribed returns the error of a kind that the server cannot describe; else an empty text.
func undescribed(err error) string {
	if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) {
		return unknown.Error()
	}
	return ""
}

// definitionRef is the definition of ResourceGroups.
var definitionRef = object.Ref{Group: plan.DefinitionKind.Group, Kind: plan.DefinitionKind.Kind,
	Name: "resourcegroups." + inventory.ResourceGroupKind.Group}

func namespaceRef(name string) object.Ref {
	return object.Ref{Kind: plan.NamespaceKind.Kind, Name: name}
}

// CheckRecordNamespace returns an error unless the namespace of the record exists or is part of the
// package. It costs no request if the record exists, or if the plan has found the namespace.
func (o *Operation) CheckRecordNamespace(ctx context.Context) error {
	home := o.Policy.RecordNamespace
	if o.format.Record.Exists() || o.Plan().Namespaces[home.Name] {
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
