package sets

import (
	"context"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/sets/input/files"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
)

// OpenIn reads the set of a request. The cluster knows the record of a package in an artifact.
func OpenIn(ctx context.Context, c cluster.Writer, r Request) (Set, error) {
	if !r.NamesArtifact() {
		return Open(ctx, r)
	}
	inv, err := packages.RecordInventory(ctx, c, r.Namespace, r.Record)
	if err != nil {
		return nil, err
	}
	return openArtifact(ctx, r, inv)
}

// NamesArtifact reports whether the request names a package in an artifact, by its record.
func (r Request) NamesArtifact() bool {
	return r.Record != "" && len(r.Files) > 0
}

// openArtifact reads the package in an artifact.
func openArtifact(ctx context.Context, r Request, inv *inventory.Inventory) (Set, error) {
	in, fetched := r.input(), r.Artifacts[r.folder()]
	in.Inventory = inv
	p, err := packages.Open(ctx, in)
	if err != nil {
		return nil, files.Prefixed(fetched.Name, err)
	}
	fetched.Annotate(p.Objects)
	return newPackageSet(ctx, r, p)
}

// fileOptions returns how paths of the request are read that are no package.
func (r Request) fileOptions(paths ...string) files.Options {
	return files.Options{
		Paths: paths, Artifacts: r.Artifacts, Root: r.Root, Stdin: r.Stream, Warn: r.warn,
	}
}
