package packages

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
)

// Migration moves an inventory to a ResourceGroup. It writes the new file, adds the members of the
// old record to the new one, deletes the old record and removes the old description. So at every
// moment an inventory that the package describes covers all deployed objects, and a repeated step
// does nothing.
type Migration struct {
	options   MigrateOptions
	dir       string
	namespace string // of the new inventory; empty for that of the old one
	described descriptions
	cluster   cluster.Writer
}

// MigrateOptions are the options of PrepareMigration.
type MigrateOptions struct {
	InitOptions
	DryRun bool
	Out    io.Writer // receives a line for each step
}

// PrepareMigration reads the package in a folder.
func PrepareMigration(
	ctx context.Context, dir string, o MigrateOptions,
) (*Migration, error) {
	d, err := toMigrate(ctx, dir, o.Root)
	return &Migration{options: o, dir: dir, described: d}, err
}

// Inventory returns the inventory to move; nil if there is none.
func (m *Migration) Inventory() *inventory.Inventory {
	var old *inventory.Inventory
	switch {
	case len(m.described.maps) > 0:
		old, _ = inventory.New(m.described.maps[0]) // Run returns the error
	case len(m.described.kptfiles) > 0:
		old, _ = m.described.kptfiles[0].Inventory(m.described.kptfiles[0].file)
	}
	return old
}

// Run moves the inventory, to the namespace if it is not empty.
func (m *Migration) Run(ctx context.Context, c cluster.Writer, namespace string) error {
	m.cluster, m.namespace = c, namespace
	install := func() error { return Install(ctx, c) }
	if err := m.step("  ensuring ResourceGroup CRD exists in cluster...", install); err != nil {
		return err
	}
	return m.run(ctx)
}

// print prints a part of a line.
func (m *Migration) print(text string) { fmt.Fprint(m.options.Out, text) }

// step prints the start of a line, calls do except in a dry run, and ends the line.
func (m *Migration) step(line string, do func() error) error {
	m.print(line)
	if !m.options.DryRun {
		if err := do(); err != nil {
			return err
		}
	}
	m.print("success\n")
	return nil
}

func (m *Migration) run(ctx context.Context) error {
	m.print("  retrieve the current ConfigMap inventory...")
	if len(m.described.maps) > 0 {
		old, err := inventory.New(m.described.maps[0])
		if err != nil {
			return err
		}
		m.print(fmt.Sprintf("success (inventory-id: %s)\n", old.ID))
		return m.fromConfigMap(ctx, old)
	}
	m.print("no ConfigMap inventory...completed\n")
	return m.fromKptfile(ctx)
}

func (m *Migration) fromConfigMap(ctx context.Context, old *inventory.Inventory) error {
	template := m.described.maps[0].Origin.Path
	switch rest, err := otherObjects(m.dir, template, isMapInventory); {
	case err != nil:
		return err
	case len(rest) > 0:
		return fmt.Errorf(
			"%s holds other objects beside the inventory, and would be deleted; move the "+
				"inventory to a file of its own", template,
		)
	}
	m.print("  creating ResourceGroup object file...")
	target, err := m.target(ctx, old)
	if err != nil {
		return err
	}
	m.print("success\n  retrieve ConfigMap inventory objs...")
	from := inventory.NewStore(m.cluster, old, true)
	state, err := from.Load(ctx)
	if err != nil {
		return err
	}
	m.print(fmt.Sprintf("success (%d inventory objects)\n", len(state.Members)))
	const deleting = "  deleting old ConfigMap inventory object..."
	if err := m.move(ctx, from, state, target, deleting); err != nil {
		return err
	}
	path, err := filepath.Abs(filepath.Join(m.dir, filepath.FromSlash(template)))
	if err != nil {
		return err
	}
	return m.step(fmt.Sprintf("deleting inventory template file: %s...", path),
		func() error { return os.Remove(path) })
}

func (m *Migration) fromKptfile(ctx context.Context) error {
	m.print("  reading existing Kptfile...")
	if len(m.described.kptfiles) == 0 {
		m.print("no inventory...completed\n")
		return nil
	}
	section := m.described.kptfiles[0]
	old, err := section.Inventory(section.file)
	if err != nil {
		return err
	}
	target, err := m.target(ctx, old)
	if err != nil {
		return err
	}
	if target.Ref != old.Ref {
		m.print("success\n")
		from := inventory.NewStore(m.cluster, old, true)
		state, err := from.Load(ctx)
		if err == nil {
			err = m.move(ctx, from, state, target, "  deleting old ResourceGroup inventory object...")
		}
		if err != nil {
			return err
		}
		return m.step(
			"  removing inventory from the Kptfile...", func() error { return stripKptfile(m.dir) },
		)
	}
	return m.step("", func() error { return stripKptfile(m.dir) })
}

// target returns the inventory to move to: that of an interrupted migration, or a new one, whose
// file it writes.
func (m *Migration) target(
	ctx context.Context, old *inventory.Inventory,
) (*inventory.Inventory, error) {
	if len(m.described.groups) > 0 {
		found, err := inventory.New(m.described.groups[0])
		if err != nil {
			return nil, err
		}
		sameName := m.options.Name == "" || m.options.Name == found.Ref.Name
		if found.ID == old.ID && m.namespace != "" && m.namespace != found.Ref.Namespace &&
			!m.options.Force {
			return nil, fmt.Errorf(
				"the migration was begun into namespace %s (%s); leave --namespace out to finish it there",
				found.Ref.Namespace, found.Source,
			)
		}
		if found.ID == old.ID && sameName {
			m.print("values already exist...")
			return found, nil
		}
		if !m.options.Force {
			return nil, fmt.Errorf(
				"the package has another inventory already, %s with the ID %q in %s; remove it "+
					"if nothing was deployed under it, or replace it with --force", found.Ref,
				found.ID, found.Source,
			)
		}
	}
	namespace, name := old.Ref.Namespace, m.options.Name
	if m.namespace != "" {
		namespace = m.namespace
	}
	if name == "" && old.Ref.GroupKind() == inventory.ResourceGroupKind.GroupKind() {
		name = old.Ref.Name
	}
	f := m.options.InitOptions
	f.Name, f.ID = name, old.ID
	target, err := f.inventory(namespace)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{}
	maps.Copy(labels, old.Labels)
	delete(labels, inventory.FirstIDKey)
	maps.Copy(labels, target.Labels)
	target.Labels, target.Annotations = labels, old.Annotations
	target.Cluster = old.Cluster
	if m.options.Name != "" { // chosen, so that another package may have it
		if _, err := inventory.NewStore(m.cluster, target, true).Load(ctx); err != nil {
			return nil, err
		}
	}
	if m.options.DryRun {
		return target, nil
	}
	if err := checkGroups(m.dir, m.described, f); err != nil {
		return target, err
	}
	file := filepath.Join(m.dir, f.File)
	return target, writeInventoryFile(target, file, len(m.described.groups) > 0)
}

// move adds the members of one record to another and deletes the first if nobody has changed it.
func (m *Migration) move(
	ctx context.Context, from *inventory.Store, state *record.State, target *inventory.Inventory,
	deleting string,
) error {
	if err := from.CheckOwned(ctx, state); err != nil {
		return err
	}
	if len(state.Members) > 0 {
		add := func() error { return addMembers(ctx, m.cluster, target, state) }
		if err := m.step("  migrate inventory to ResourceGroup...", add); err != nil {
			return err
		}
	}
	if !from.Exists() {
		return nil
	}
	return m.step(deleting, func() error {
		if err := from.Remove(ctx); err != nil {
			return fmt.Errorf("delete the old inventory %s: %w; run migrate again", from.Inventory.Ref, err)
		}
		return nil
	})
}

// addMembers adds the members of a state to the record of an inventory, which it creates if there
// is none. Conditions that the record has win.
func addMembers(
	ctx context.Context, c cluster.Writer, target *inventory.Inventory, state *record.State,
) error {
	statuses := slices.ContainsFunc(state.Members, func(m record.Member) bool {
		return m != record.Member{Ref: m.Ref}
	})
	to := inventory.NewStore(c, target, statuses)
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

// toMigrate returns the inventories that the package in a folder describes.
func toMigrate(
	ctx context.Context, dir string, root Root,
) (descriptions, error) {
	s, err := openFolder(ctx, dir, root)
	if err != nil {
		return descriptions{}, err
	}
	s.foreign = manifest.KeepForeign
	c := s.contents(ctx)
	switch err := c.check(); {
	case err != nil:
		return c.descriptions, err
	case s.problems != nil, len(c.maps) == 0 && len(c.kptfiles) == 0:
		return c.descriptions, c.problems // the inventory may be in what could not be read
	case len(c.maps) > 0 && len(c.kptfiles) > 0:
		return c.descriptions, fmt.Errorf(
			"%s: inventory was found in both Kptfile and ConfigMap (%s); remove the one that is wrong",
			c.name, c.maps[0].Origin,
		)
	}
	return c.descriptions, nil
}
