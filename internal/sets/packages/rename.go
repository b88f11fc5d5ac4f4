package packages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/muster-deploy/muster/internal/base/atomicfile"
	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
)

// Renaming is a change of the name or the namespace of a package's record. It writes the new record
// with all members, then the file of the package, and then deletes the old record. So at every
// moment the inventory that the package describes covers all deployed objects, and an interrupted
// renaming can be repeated. The ID of the inventory stays, and so deployed objects do not change.
type Renaming struct {
	From, To *inventory.Inventory
	file     string // that describes the inventory; empty if the folder is not known
}

// PrepareRename reads the file of a package. The folder is empty if only its record is known.
func PrepareRename(
	folder string, inv *inventory.Inventory, namespace, name string,
) (*Renaming, error) {
	if err := CheckNoApplySet(inv, "renamed"); err != nil {
		return nil, err
	}
	if inv.Ref.GroupKind() != inventory.ResourceGroupKind.GroupKind() {
		return nil, errors.New("the inventory is in a ConfigMap, an older format; move it to a " +
			"ResourceGroup first, which may have another name: muster migrate --name")
	}
	r := &Renaming{From: inv, To: inv.Renamed(namespace, name)}
	switch folder {
	case "":
		return r, nil
	case Stdin:
		return nil, errors.New("a package on the standard input has no file that could be changed; " +
			"name its folder")
	}
	r.file = filepath.Join(folder, filepath.FromSlash(manifest.FileOf(inv.Source)))
	text, err := boundedio.ReadFile(r.file)
	if err != nil {
		return nil, fmt.Errorf("read the inventory: %w", err)
	}
	if _, err = inventory.RenameText(text, r.From.Ref, r.To.Ref); err != nil {
		return nil, fmt.Errorf("%s: %w", r.file, err)
	}
	return r, nil
}

// Locks returns what is locked while the record is renamed.
func (r *Renaming) Locks() []lock.Set { return lock.InOrder(LockSet(r.From), LockSet(r.To)) }

// Run renames the record, and reports whether there was anything to do.
func (r *Renaming) Run(ctx context.Context, c cluster.Writer) (changed bool, err error) {
	if r.From.Ref == r.To.Ref {
		return r.finish(ctx, c)
	}
	to := inventory.NewStore(c, r.To, true)
	if _, err := to.Load(ctx); err != nil {
		if other := (*inventory.MismatchError)(nil); errors.As(err, &other) {
			err = fmt.Errorf("the name %q is taken in namespace %s by another package; choose "+
				"another name", r.To.Ref.Name, r.To.Ref.Namespace)
		}
		return false, err
	}
	if to.Exists() && to.RenamedFrom() != r.From.Ref {
		return false, fmt.Errorf("the name %q is taken in namespace %s by a record with the same ID, "+
			"%q, of which package %q may be a copy; choose another name", r.To.Ref.Name,
			r.To.Ref.Namespace, r.To.ID, r.From.Ref.Name)
	}
	from := inventory.NewStore(c, r.From, true)
	state, err := from.Load(ctx)
	if err != nil {
		return false, err
	}
	if !from.Exists() && !to.Exists() {
		return false, fmt.Errorf("there is no record of package %q in namespace %s, so that there is "+
			"nothing to rename; muster list -A shows all", r.From.Ref.Name, r.From.Ref.Namespace)
	}
	return true, r.move(ctx, c, from, state, r.To)
}

// finish ends an earlier renaming to the present name that was interrupted after the file was
// written.
func (r *Renaming) finish(ctx context.Context, c cluster.Writer) (changed bool, err error) {
	to := inventory.NewStore(c, r.From, true)
	if _, err := to.Load(ctx); err != nil {
		return false, err
	}
	old := *r.From
	if old.Ref = to.RenamedFrom(); old.Ref == (object.Ref{}) {
		return false, nil
	}
	from := inventory.NewStore(c, &old, true)
	state, err := from.Load(ctx)
	if other := (*inventory.MismatchError)(nil); errors.As(err, &other) {
		return false, nil // the old name is in use again
	}
	if err != nil || !from.Exists() {
		return false, err
	}
	return true, r.move(ctx, c, from, state, r.From)
}

// move adds a record, if it exists, to another one, writes the file and deletes the first record.
func (r *Renaming) move(
	ctx context.Context, c cluster.Writer, from *inventory.Store, state *record.State,
	to *inventory.Inventory,
) error {
	if from.Exists() {
		if err := from.CheckOwned(ctx, state); err != nil {
			return err
		}
		if err := addMembers(ctx, c, to, state); err != nil {
			return fmt.Errorf("write the record %s: %w", to.Ref, err)
		}
	}
	if err := r.writeFile(); err != nil {
		return err
	}
	if err := from.Remove(ctx); err != nil {
		return fmt.Errorf("delete the record under its old name, %s: %w; run the same command again",
			from.Inventory.Ref, err)
	}
	return nil
}

// writeFile writes the file of the package, if its folder is known.
func (r *Renaming) writeFile() error {
	if r.file == "" || r.From.Ref == r.To.Ref {
		return nil
	}
	info, err := os.Stat(r.file)
	var text []byte
	if err == nil {
		text, err = boundedio.ReadFile(r.file) // it may have been edited since
	}
	if err == nil {
		text, err = inventory.RenameText(text, r.From.Ref, r.To.Ref)
	}
	if err == nil {
		err = atomicfile.Write(r.file, text, info.Mode().Perm())
	}
	if err != nil {
		return fmt.Errorf("write the inventory: %w; run the same command again", err)
	}
	return nil
}
