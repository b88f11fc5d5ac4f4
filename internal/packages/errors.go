package packages

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNoDefinition says that the cluster has no place for records.
var ErrNoDefinition = errors.New("the cluster has no ResourceGroup definition; run install-resource-group, or apply with --install-resource-group")

// NoFolderError says that there is no folder of a name.
type NoFolderError struct {
	Folder string
	Err    error
}

func (e *NoFolderError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *NoFolderError) Unwrap() error { return e.Err }

// SeveralInventoriesError says that a package describes several inventories in one way.
type SeveralInventoriesError struct {
	Package string   // such as: package "web"
	Format  string   // the format to keep: ResourceGroup, ConfigMap or Kptfile
	Places  []string // of all inventories
}

func (e *SeveralInventoriesError) Error() string {
	return fmt.Sprintf("%s has several inventories, in %s; keep one %s", e.Package, strings.Join(e.Places, " and in "), e.Format)
}

// TwoFormatsError says that a package describes its inventory in two formats, as after an interrupted migration.
type TwoFormatsError struct {
	Package      string // such as: package "web"
	Older, Newer string
}

func (e *TwoFormatsError) Error() string {
	return fmt.Sprintf("%s: inventory was found in both %s and %s object; run migrate to finish moving it, or remove the one that is wrong",
		e.Package, e.Older, e.Newer)
}

// ClusterScopedError says that an object of a cluster-scoped kind has a namespace.
type ClusterScopedError struct{ Namespace string }

func (e *ClusterScopedError) Error() string {
	return fmt.Sprintf("the kind is cluster-scoped, but the object has the namespace %q; remove it", e.Namespace)
}

// OtherNamespaceError says that an object is in another namespace than all have to be in.
type OtherNamespaceError struct{ Namespace, Want string }

func (e *OtherNamespaceError) Error() string {
	return fmt.Sprintf("it is in namespace %q, but --namespace wants all objects in %q", e.Namespace, e.Want)
}

// InitializedError says that a package has an inventory already.
type InitializedError struct {
	Object string // that holds it: Kptfile or ResourceGroup
	Err    error
}

func (e *InitializedError) Error() string { return e.Err.Error() }

// InstallError says that the ResourceGroup definition could not be installed.
type InstallError struct{ Err error }

func (e *InstallError) Error() string {
	return fmt.Sprintf("install the ResourceGroup definition: %v", e.Err)
}

// Unwrap returns the cause.
func (e *InstallError) Unwrap() error { return e.Err }
