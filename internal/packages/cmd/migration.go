package cmd

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// migration moves an inventory. The order of its steps is such that whatever is deployed is known to an inventory that the
// package describes at every moment, and the steps that were done already do nothing when they are done again:
// the file of the new inventory is written, what the old record lists is added to the new one, the old record is deleted,
// and at last the old description goes.
type migration struct {
	flags     migrateFlags
	dir       string
	namespace string // of the flag; else empty
	described described
	cluster   records
	out       io.Writer
}

// say prints one part of a line about a step.
func (m *migration) say(text string) { fmt.Fprint(m.out, text) }

// step prints a line, does what it says unless nothing is to be changed, and ends the line.
func (m *migration) step(line string, do func() error) error {
	m.say(line)
	if !m.flags.dryRun {
		if err := do(); err != nil {
			return err
		}
	}
	m.say("success\n")
	return nil
}

func (m *migration) run(ctx context.Context) error {
	m.say("  retrieve the current ConfigMap inventory...")
	if len(m.described.maps) > 0 {
		old, err := newInventory(m.described.maps[0])
		if err != nil {
			return err
		}
		m.say(fmt.Sprintf("success (inventory-id: %s)\n", old.id))
		return m.fromConfigMap(ctx, old)
	}
	m.say("no ConfigMap inventory...completed\n")
	return m.fromKptfile(ctx)
}

func (m *migration) fromConfigMap(ctx context.Context, old *inventory) error {
	template := m.described.maps[0].Origin.Path
	switch rest, err := others(m.dir, template, isMapInventory); {
	case err != nil:
		return err
	case len(rest) > 0:
		return fmt.Errorf("%s holds other objects beside the inventory, and would be deleted; move the inventory to a file of its own", template)
	}
	m.say("  creating ResourceGroup object file...")
	target, err := m.target(ctx, old)
	if err != nil {
		return err
	}
	m.say("success\n  retrieve ConfigMap inventory objs...")
	from := newStore(m.cluster, old, "all")
	state, err := from.Load(ctx)
	if err != nil {
		return err
	}
	m.say(fmt.Sprintf("success (%d inventory objects)\n", len(state.Members)))
	if err := m.move(ctx, from, state, target, "  deleting old ConfigMap inventory object..."); err != nil {
		return err
	}
	path, err := filepath.Abs(filepath.Join(m.dir, filepath.FromSlash(template)))
	if err != nil {
		return err
	}
	return m.step(fmt.Sprintf("deleting inventory template file: %s...", path), func() error { return os.Remove(path) })
}

func (m *migration) fromKptfile(ctx context.Context) error {
	m.say("  reading existing Kptfile...")
	if len(m.described.kptfiles) == 0 {
		m.say("no inventory...completed\n")
		return nil
	}
	section := m.described.kptfiles[0]
	old, err := section.inventory(section.where)
	if err != nil {
		return err
	}
	target, err := m.target(ctx, old)
	if err != nil {
		return err
	}
	if target.ref != old.ref {
		m.say("success\n")
		from := newStore(m.cluster, old, "all")
		state, err := from.Load(ctx)
		if err == nil {
			err = m.move(ctx, from, state, target, "  deleting old ResourceGroup inventory object...")
		}
		if err != nil {
			return err
		}
		return m.step("  removing inventory from the Kptfile...", func() error { return stripKptfile(m.dir) })
	}
	return m.step("", func() error { return stripKptfile(m.dir) })
}

// target is the inventory in whose ResourceGroup all will be: the one in the file of a migration that was interrupted, or a
// new one, whose file is written.
func (m *migration) target(ctx context.Context, old *inventory) (*inventory, error) {
	if len(m.described.groups) > 0 {
		found, err := newInventory(m.described.groups[0])
		if err != nil {
			return nil, err
		}
		sameName := m.flags.name == "" || m.flags.name == found.ref.Name
		if found.id == old.id && m.namespace != "" && m.namespace != found.ref.Namespace && !m.flags.force {
			return nil, fmt.Errorf("the migration was begun into namespace %s (%s); leave --namespace out to finish it there",
				found.ref.Namespace, found.origin)
		}
		if found.id == old.id && sameName {
			m.say("values already exist...")
			return found, nil
		}
		if !m.flags.force {
			return nil, fmt.Errorf("the package has another inventory already, %s with the ID %q in %s; remove it if nothing was deployed under it, "+
				"or replace it with --force", found.ref, found.id, found.origin)
		}
	}
	namespace, name := old.ref.Namespace, m.flags.name
	if m.namespace != "" {
		namespace = m.namespace
	}
	if name == "" && old.ref.GroupKind() == resourceGroupKind.GroupKind() {
		name = old.ref.Name
	}
	f := initFlags{name: name, inventoryID: old.id, file: m.flags.file, force: m.flags.force}
	target, err := f.inventory(namespace)
	if err != nil {
		return nil, err
	}
	labels := maps.Clone(old.labels)
	delete(labels, firstInventoryIDKey)
	target.labels, target.annotations = united(labels, target.labels), old.annotations
	if m.flags.name != "" { // chosen, so that another package may have it
		if _, err := newStore(m.cluster, target, "all").Load(ctx); err != nil {
			return nil, err
		}
	}
	if m.flags.dryRun {
		return target, nil
	}
	return target, writeInventory(m.dir, m.described, target, f, false)
}

// move adds what one record lists to another, and then deletes the first, if nobody has changed it meanwhile.
func (m *migration) move(ctx context.Context, from *inventoryStore, state *record.State, target *inventory, deleting string) error {
	if len(state.Members) > 0 {
		add := func() error { return m.add(ctx, state, target) }
		if err := m.step("  migrate inventory to ResourceGroup...", add); err != nil {
			return err
		}
	}
	if !from.exists() {
		return nil
	}
	return m.step(deleting, func() error {
		if err := from.remove(ctx, true); err != nil {
			return fmt.Errorf("delete the old inventory %s: %w; run migrate again", from.inventory.ref, err)
		}
		return nil
	})
}

// add makes the members of a state members of the target as well. What the target says of one counts, if it says anything.
func (m *migration) add(ctx context.Context, state *record.State, target *inventory) error {
	to := newStore(m.cluster, target, "all")
	has, err := to.Load(ctx)
	if err != nil {
		return err
	}
	at := map[object.Ref]int{}
	for i, member := range has.Members {
		at[member.Ref] = i
	}
	for _, member := range state.Members {
		i, ok := at[member.Ref]
		switch {
		case !ok:
			has.Members = append(has.Members, member)
		case has.Members[i] == (record.Member{Ref: member.Ref}):
			has.Members[i] = member
		}
	}
	return to.Save(ctx, has)
}
