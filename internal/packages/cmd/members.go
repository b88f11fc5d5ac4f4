package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/view"
)

// members is what status shows: objects, and the inventories that each belongs to. Inventories may share a name in different
// namespaces, and objects may be in several of them.
type members struct {
	all    *object.Set
	owners map[object.Ref][]object.Ref
	remote bool // several inventories, so that it has to be said which
}

func (m *members) add(inv object.Ref, refs []object.Ref) {
	for _, ref := range refs {
		m.all.Insert(ref)
		m.owners[ref] = append(m.owners[ref], inv)
	}
}

// inventories are those that an object belongs to.
func (m *members) inventories(ref object.Ref) []object.Ref { return m.owners[ref] }

// of names the inventories of an object.
func (m *members) of(ref object.Ref) string {
	names := make([]string, len(m.owners[ref]))
	for i, inv := range m.owners[ref] {
		names[i] = inv.Namespace + "/" + inv.Name
	}
	return strings.Join(names, ", ")
}

// names are those of the inventories of an object, without their namespaces.
func (m *members) names(ref object.Ref) string {
	names := make([]string, len(m.owners[ref]))
	for i, inv := range m.owners[ref] {
		names[i] = inv.Name
	}
	return strings.Join(names, ",")
}

// localMembers are those of the package in a folder.
func localMembers(ctx context.Context, env *cli.Env, kube *cli.Kube, dir string) (*members, *cluster.Client, error) {
	inv, err := openInventory(env, dir)
	if err != nil {
		return nil, nil, err
	}
	client, err := kube.Client()
	if err != nil {
		return nil, nil, err
	}
	inv.advise(env.Err)
	if err := demandDefinition(ctx, client, inv); err != nil {
		return nil, nil, err
	}
	state, err := newStore(client, inv, "all").Load(ctx)
	if err != nil {
		return nil, nil, err
	}
	m := &members{all: object.NewSet(), owners: map[object.Ref][]object.Ref{}}
	m.add(inv.ref, state.Refs())
	return m, client, nil
}

// remoteMembers are those of the ResourceGroups in the cluster, or in the namespace of the flag. One that is damaged does not
// keep anybody from seeing the others.
func (f statusFlags) remoteMembers(ctx context.Context, env *cli.Env, kube *cli.Kube, _ string) (*members, *cluster.Client, error) {
	namespace, explicit, err := kube.Namespace()
	if err != nil {
		return nil, nil, err
	}
	if !explicit {
		namespace = ""
	}
	client, err := kube.Client()
	if err != nil {
		return nil, nil, err
	}
	m := &members{all: object.NewSet(), owners: map[object.Ref][]object.Ref{}, remote: true}
	groups, err := client.List(ctx, resourceGroupKind.GroupKind(), namespace, nil)
	if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) && unknown.Cause == nil {
		err = errNoDefinition
	}
	if err != nil {
		return nil, nil, err
	}
	for _, group := range groups {
		if len(f.invNames) > 0 && !slices.Contains(f.invNames, group.GetName()) {
			continue
		}
		inv, err := newInventory(manifest.Object{Unstructured: group})
		if err != nil {
			continue // a part of another, or somebody else's use of the kind
		}
		store := newStore(client, inv, "all")
		lost, err := store.accept(group, groups)
		if lost > 0 {
			err = store.lostPart(lost, nil)
		}
		state := store.state()
		if err == nil {
			err = checkMembers(ctx, client, inv, state.Refs())
		}
		if err != nil {
			fmt.Fprintln(env.Err, "Warning:", err)
			continue
		}
		m.add(inv.ref, state.Refs())
	}
	return m, client, nil
}

// rows are the members of a table.
func (m *members) rows() []view.TableRow {
	rows := make([]view.TableRow, 0, m.all.Len())
	for _, ref := range m.all.Refs() {
		rows = append(rows, view.TableRow{Ref: ref})
	}
	return rows
}
