package kustomize

import "context"

// Reference is an entry of a kustomization that names a file or a folder.
type Reference struct {
	File  string // the kustomization, relative to the folder that was asked about
	Field string
	Entry string // as the kustomization has it
	Path  string // absolute
}

// Outside returns the entries that lead out of a root, of the kustomization of a folder below it
// and of those that this names. A kustomization that cannot be read has none.
func Outside(ctx context.Context, root, folder string) ([]Reference, error) {
	realRoot, err := realPath(root)
	if err != nil {
		return nil, err
	}
	real, err := realPath(folder)
	if err != nil {
		return nil, err
	}
	disk, err := openDisk(ctx, Root{Dir: realRoot})
	if err != nil {
		return nil, err
	}
	defer disk.root.Close()
	t := newTree(disk, realRoot)
	t.readFolder(real, false)
	return t.outside, context.Cause(ctx)
}

// Resources returns the resources that the kustomization of a folder names; none if it cannot be
// read.
func Resources(ctx context.Context, dir string) []string {
	real, err := realPath(dir)
	if err != nil {
		return nil
	}
	disk, err := openDisk(ctx, Root{Dir: real})
	if err != nil {
		return nil
	}
	defer disk.root.Close()
	_, found := newTree(disk, real).findFile(real)
	text, err := disk.read(found)
	if err != nil {
		return nil
	}
	k, err := decode(text)
	if err != nil {
		return nil
	}
	return k.Resources
}
