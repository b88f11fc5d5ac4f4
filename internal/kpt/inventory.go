package kpt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// inventory is what a package says of its record: where it is and by which ID its objects know it.
type inventory struct {
	ref         object.Ref
	id          string
	labels      map[string]string
	annotations map[string]string
}

// newInventory reads the ResourceGroup of a package. Annotations of tools that work on files stay in the files.
func newInventory(obj manifest.Object) (*inventory, error) {
	inv := &inventory{
		ref:         object.RefOf(obj.Unstructured),
		id:          obj.GetLabels()[inventoryIDKey],
		labels:      obj.GetLabels(),
		annotations: map[string]string{},
	}
	for key, value := range obj.GetAnnotations() {
		if !strings.HasPrefix(key, "config.kubernetes.io/") && !strings.HasPrefix(key, "internal.config.kubernetes.io/") {
			inv.annotations[key] = value
		}
	}
	var missing []string
	if inv.ref.Namespace == "" {
		missing = append(missing, "metadata.namespace")
	}
	if inv.id == "" {
		missing = append(missing, "the label "+inventoryIDKey)
	}
	if len(missing) > 0 {
		return nil, worded(fmt.Errorf("%s: the inventory lacks %s; restore it, or run init --force to begin a new inventory",
			obj.Origin, strings.Join(missing, " and ")), asKubectl, "the provided ResourceGroup is not valid")
	}
	return inv, nil
}

// resourceGroup keeps a record in a ResourceGroup. It is a record.Store.
type resourceGroup struct {
	cluster   engine.Cluster
	inventory *inventory
	stored    *unstructured.Unstructured // as the server gave it last; nil when there is none
	loaded    *object.Set                // the members that Load found
	added     *object.Set                // the members that Save added, and nobody else
	others    *object.Set                // the members that appeared since Load by somebody else's hand; perhaps by ours as well
}

// saveAttempts is how often a record that somebody else changed meanwhile is merged anew.
const saveAttempts = 5

// Load gives the stored record, or an empty one. A record with another ID belongs to another package and is an error.
func (g *resourceGroup) Load(ctx context.Context) (*record.State, error) {
	if err := g.read(ctx); err != nil {
		return nil, err
	}
	state := &record.State{}
	if g.stored != nil {
		state = decode(g.stored)
	}
	g.loaded, g.added, g.others = object.NewSet(state.Refs()...), object.NewSet(), object.NewSet()
	return state, nil
}

func (g *resourceGroup) read(ctx context.Context) error {
	snapshot, err := g.cluster.Read(ctx, []cluster.Target{{Ref: g.inventory.ref, Version: resourceGroupKind.Version}})
	if err != nil {
		return fmt.Errorf("read the inventory: %w", err)
	}
	if snapshot.Broken != nil {
		return fmt.Errorf("read the inventory: %w", snapshot.Broken)
	}
	g.stored = snapshot.Objects[g.inventory.ref]
	if g.stored == nil {
		return nil
	}
	if id := g.stored.GetLabels()[inventoryIDKey]; id != g.inventory.id {
		return worded(fmt.Errorf("the inventory %s in the cluster has the id %q, but this package has %q: it is the record of another package; "+
			"give this package an inventory of its own with init --force --name", g.inventory.ref, id, g.inventory.id),
			asKubectl, "inventory-id of inventory object in cluster doesn't match provided id %q", g.inventory.id)
	}
	return nil
}

// exists reports whether there is a record in the cluster, as of the last Load.
func (g *resourceGroup) exists() bool { return g.stored != nil }

// Save stores the members and then their status, each only if it differs. Members that somebody else added since Load stay.
func (g *resourceGroup) Save(ctx context.Context, state *record.State) error {
	var err error
	for range saveAttempts {
		err = g.save(ctx, state)
		vanished := apierrors.IsNotFound(err) && g.stored != nil // somebody deleted it: it is made anew
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !vanished {
			break
		}
		if err := g.read(ctx); err != nil {
			return err
		}
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && apierrors.IsNotFound(err) && aboutNamespace(status) {
		return noHome(g.inventory.ref.Namespace)
	}
	return err
}

func aboutNamespace(err apierrors.APIStatus) bool {
	return err.Status().Details != nil && err.Status().Details.Kind == "namespaces"
}

func (g *resourceGroup) save(ctx context.Context, state *record.State) error {
	if err := g.store(ctx, g.merge(state)); err != nil {
		return err
	}
	for _, ref := range state.Refs() {
		if !g.loaded.Has(ref) && !g.others.Has(ref) {
			g.added.Insert(ref)
		}
	}
	return nil
}

func (g *resourceGroup) store(ctx context.Context, state *record.State) error {
	switch {
	case g.stored == nil:
		created, err := g.cluster.Write(ctx, cluster.Write{Object: g.fresh(state), Method: cluster.Create, Manager: manager})
		if err != nil {
			return err
		}
		g.stored = created
	case !sameMembers(g.stored, state):
		next := g.stored.DeepCopy()
		setMembers(next, state)
		if err := g.replace(ctx, next, ""); err != nil {
			return err
		}
	}
	if decode(g.stored).Equal(state) && len(entries(g.stored, "status", "resourceStatuses")) == len(statuses(state)) {
		return nil
	}
	next := g.stored.DeepCopy()
	setStatuses(next, state)
	return g.replace(ctx, next, "status")
}

func (g *resourceGroup) replace(ctx context.Context, next *unstructured.Unstructured, subresource string) error {
	stored, err := g.cluster.Write(ctx, cluster.Write{Object: next, Method: cluster.Replace, Subresource: subresource, Manager: manager})
	if err != nil {
		return err
	}
	g.stored = stored
	return nil
}

// merge adds the members that somebody else has put into the record since Load. They stay although the state does not have
// them, also if the same run had wanted them and gave them up: only the other one knows what became of them.
func (g *resourceGroup) merge(state *record.State) *record.State {
	if g.stored == nil {
		return state
	}
	ours := object.NewSet(state.Refs()...)
	merged := &record.State{Members: slices.Clone(state.Members)}
	for _, member := range decode(g.stored).Members {
		if g.loaded.Has(member.Ref) || g.added.Has(member.Ref) {
			continue
		}
		g.others.Insert(member.Ref)
		if !ours.Has(member.Ref) {
			merged.Members = append(merged.Members, member)
		}
	}
	return merged
}

// fresh is the ResourceGroup that does not exist yet.
func (g *resourceGroup) fresh(state *record.State) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(resourceGroupKind)
	obj.SetNamespace(g.inventory.ref.Namespace)
	obj.SetName(g.inventory.ref.Name)
	obj.SetLabels(g.inventory.labels)
	obj.SetAnnotations(g.inventory.annotations)
	setMembers(obj, state)
	return obj
}

// Delete removes the record, unless it is another than the one that was loaded.
func (g *resourceGroup) Delete(ctx context.Context) error {
	if g.stored == nil {
		return nil
	}
	_, err := g.cluster.Delete(ctx, cluster.Delete{Ref: g.inventory.ref, UID: g.stored.GetUID()})
	if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) {
		return nil
	}
	return err
}
