package packages

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNoDefinition reports a cluster without the ResourceGroup definition.
var ErrNoDefinition = errors.New(
	"the cluster has no ResourceGroup definition; run install-resource-group, or apply with " +
		"--install-resource-group",
)

// NoFolderError reports a folder that does not exist.
type NoFolderError struct {
	Folder string
	Err    error
}

func (e *NoFolderError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *NoFolderError) Unwrap() error { return e.Err }

// StrayInventoryError reports an inventory among manifests that are not deployed as a package.
type StrayInventoryError struct {
	Where  string // file and document
	Folder string // of the package, or Stdin
}

func (e *StrayInventoryError) Error() string {
	return fmt.Sprintf("%s: it is an inventory, so this folder is a package: muster apply %s; to "+
		"deploy its objects as an app, leave the inventory out", e.Where, e.Folder)
}

// SeveralInventoriesError reports a package with several inventories in one format.
type SeveralInventoriesError struct {
	Package string   // such as: package "web"
	Format  string   // the format to keep: ResourceGroup, ConfigMap or Kptfile
	Places  []string // of all inventories
}

func (e *SeveralInventoriesError) Error() string {
	way := "keep one " + e.Format
	if folders := e.folders(); len(folders) > 1 {
		way = "name one of its folders, each of which is a package (" + strings.Join(folders, ", ") +
			"), or " + way
	}
	return fmt.Sprintf("%s has several inventories, in %s; %s", e.Package,
		strings.Join(e.Places, " and in "), way)
}

// folders returns the folders of the inventories if each is in another one, else nil.
func (e *SeveralInventoriesError) folders() []string {
	var folders []string
	for _, place := range e.Places {
		file, _, _ := strings.Cut(place, ": ")
		folder := path.Dir(file)
		if folder == "." || slices.Contains(folders, folder) {
			return nil
		}
		folders = append(folders, folder)
	}
	return folders
}

// SubfolderError reports a folder that has no inventory, but folders in it that have.
type SubfolderError struct {
	Package   string   // such as: package "web"
	Folder    string   // of the package
	Places    []string // the files with the inventories, relative to the folder
	Otherwise string   // what else to do

	none *NoInventoryError // nil if it is no package that lacks an inventory
}

func (e *SubfolderError) Error() string {
	var folders []string
	for _, place := range e.Places {
		folder := path.Join(filepath.ToSlash(e.Folder), path.Dir(place))
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return fmt.Sprintf("%s has no inventory at its top, but there is one in %s; did you mean %s? If "+
		"not, %s", e.Package, strings.Join(e.Places, " and in "), strings.Join(folders, " or "),
		e.Otherwise)
}

// Unwrap returns the error of a package without an inventory, unless it is none.
func (e *SubfolderError) Unwrap() error {
	if e.none == nil {
		return nil
	}
	return e.none
}

// TwoFormatsError reports a package with inventories in two formats, as after an interrupted
// migration.
type TwoFormatsError struct {
	Package      string // such as: package "web"
	Older, Newer string
}

func (e *TwoFormatsError) Error() string {
	return fmt.Sprintf(
		"%s: inventory was found in both %s and %s object; run migrate to finish moving it, or "+
			"remove the one that is wrong", e.Package, e.Older, e.Newer,
	)
}

// ClusterScopedError reports an object of a cluster-scoped kind that has a namespace.
type ClusterScopedError struct{ Namespace string }

func (e *ClusterScopedError) Error() string {
	return fmt.Sprintf(
		"the kind is cluster-scoped, but the object has the namespace %q; remove it", e.Namespace,
	)
}

// OtherNamespaceError reports an object that is not in the namespace of --namespace.
type OtherNamespaceError struct{ Namespace, Want string }

func (e *OtherNamespaceError) Error() string {
	return fmt.Sprintf(
		"it is in namespace %q, but --namespace wants all objects in %q", e.Namespace, e.Want,
	)
}

// InitializedError reports a package that has an inventory already.
type InitializedError struct {
	Object string // that holds it: Kptfile or ResourceGroup
	Err    error
}

func (e *InitializedError) Error() string { return e.Err.Error() }

// InstallError reports that the ResourceGroup definition could not be installed.
type InstallError struct{ Err error }

func (e *InstallError) Error() string {
	return fmt.Sprintf("install the ResourceGroup definition: %v", e.Err)
}

// Unwrap returns the cause.
func (e *InstallError) Unwrap() error { return e.Err }
