// Package sets presents packages and apps to the native commands as one thing: a set of objects
// with a record in the cluster.
//
// A Set is opened from what the user names, without a cluster. An Operation is what a command does
// to a set: it makes a plan and runs it, by package packages for both kinds. A operation.Format is
// what differs: package app holds that of apps. This package has no flags and prints nothing.
package sets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/input/files"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Request names a set: an app by its name, a package by its folder or by its record.
type Request struct {
	Files  []string  // of an app; of a package its folder alone
	App    string    // the name of an app; empty for a package
	Group  string    // of the app; empty for none
	Record string    // the name of a package's record; empty if its folder has it
	Stream io.Reader // the standard input
	// Artifacts are those whose files are in folders of Files.
	Artifacts map[string]files.Artifact
	Root      string // that bases of kustomizations do not leave; empty as for packages.Input

	Namespace string // of the flag or the context
	Enforced  bool   // a flag gave the namespace
	// DefaultNamespace is that of objects that name none; empty for Namespace.
	DefaultNamespace string

	Rules     []string          // files with readiness rules
	RuleFiles []policy.RuleFile // such files that were read already
	NoScripts bool              // rules of an app that are written in ytt are refused
	Notice    func(string)
	Now       func() time.Time
}

// readRuleFiles returns the readiness rules of the request, then those at the top of folders.
func (r Request) readRuleFiles(
	ctx context.Context, folders ...string,
) ([]policy.RuleFile, error) {
	found, err := policy.ReadRuleFiles(ctx, r.Rules, folders...)
	return slices.Concat(r.RuleFiles, found), err
}

// Set is a set of objects that has, or will have, one record.
type Set interface {
	// Title returns what messages call the set, as in: package "shop".
	Title() string
	format() *format
	// lock returns what is locked while the set is changed.
	lock() lock.Set
	// requested returns the request that the set was opened from.
	requested() Request
	// described returns the objects of its files; none if only the record is known.
	described() []manifest.Object
	// markID returns the ID that the marks of its objects have; empty if there is none yet.
	markID(context.Context, cluster.Writer) (string, error)
	// holders returns the record in the cluster and the UIDs of all objects that it consists of.
	holders(context.Context, cluster.Writer) (object.Ref, []types.UID, error)
	// forget deletes the record of a set whose members belong to another one.
	forget(ctx context.Context, c cluster.Writer, members *object.Set) error
	// remove deletes the record, and leaves all objects.
	remove(context.Context, cluster.Writer) error
	// restored returns the set as a revision describes it.
	restored(restoredFiles) (Set, error)
	// Name returns the name of the set and the namespace of its record.
	Name() (namespace, name string)
	// Expected returns the cluster that the set belongs to, and where that is written. Both are empty
	// for any.
	Expected() (cluster, where string)
	// PrepareApply returns the operation that makes the cluster the same as the set.
	PrepareApply(context.Context, cluster.Writer, operation.ApplyOptions) (*Operation, error)
	// PrepareDestroy returns the operation that deletes all objects of the set.
	PrepareDestroy(context.Context, cluster.Writer, operation.DestroyOptions) (*Operation, error)
	// Targets returns the objects of the set in the cluster.
	Targets(context.Context, cluster.Writer) (*operation.StatusTargets, error)
	// PrepareRename returns how the record of the set gets another name and namespace. Objects do not
	// change.
	PrepareRename(c cluster.Writer, namespace, name string) (*Renaming, error)
	// Uses returns which permissions commands on the set use.
	Uses() Uses
	// Mark returns what marks the objects of the set in the cluster.
	Mark(context.Context, cluster.Writer) (Mark, error)
	// History returns the set for its history. It has no ID if there is no record that knows it.
	History(context.Context, cluster.Writer) (history.Set, error)
}

// Mark is the label, or the annotation, that all objects of a set carry.
type Mark struct {
	Text       string // KEY=VALUE
	Annotation bool   // it is no label
}

// Renaming is how a record gets another name or namespace. An interrupted one can be repeated.
type Renaming struct {
	Locks []lock.Set // held meanwhile, in this order
	// Run renames the record, and reports whether there was anything to do.
	Run func(context.Context) (changed bool, err error)
}

// Open reads the set of a request. The record of a package in an artifact is taken to be new:
// OpenIn asks the cluster.
func Open(ctx context.Context, r Request) (Set, error) {
	if !r.NamesArtifact() {
		return r.format().open(ctx, r)
	}
	inv, err := packages.NewInventory(r.Namespace, r.Record)
	if err != nil {
		return nil, err
	}
	return openArtifact(ctx, r, inv)
}

// checkRecords returns an error for each record of an app among manifests: who deploys it takes
// over the objects of that app.
func checkRecords(objects []manifest.Object) error {
	var errs []error
	for _, obj := range objects {
		_, marked := obj.GetLabels()[resource.LabelIsApp]
		ref := object.RefOf(obj.Unstructured)
		if marked && ref.GroupKind().String() == "ConfigMap" {
			errs = append(errs, fmt.Errorf("%s: %s: it is the record of an app (label %s), which every "+
				"apply of that app writes; leave it out", obj.Origin, ref, resource.LabelIsApp))
		}
	}
	return errors.Join(errs...)
}

// OpenRecord reads only what names the record of an app or of a package with a folder, so that
// broken manifests do not prevent its objects from being deleted. Find opens other packages.
func OpenRecord(ctx context.Context, r Request) (Set, error) {
	return r.format().record(ctx, r)
}

// Find returns the package with the record of a request.
func Find(ctx context.Context, c cluster.Writer, r Request) (Set, error) {
	inv, err := packages.FindInventory(ctx, c, r.Namespace, r.Record)
	if err != nil {
		return nil, hintRecord(ctx, c, KindPackage, r.Namespace, r.Record, err)
	}
	return &packageSet{request: r, inventory: inv}, nil
}

// folder returns the folder of the package, or packages.Stdin; empty if it is not known.
func (r Request) folder() string {
	if len(r.Files) == 0 {
		return ""
	}
	return r.Files[0]
}

// input returns the package that the request names.
func (r Request) input() packages.Input {
	return packages.Input{
		Folder: r.folder(), Stream: r.Stream, Notice: r.Notice, Root: r.rootOf(r.folder()),
	}
}

// rootOf returns the folder that bases of kustomizations in a folder do not leave.
func (r Request) rootOf(folder string) packages.Root {
	if fetched, ok := r.Artifacts[folder]; ok {
		return fetched.Bounds()
	}
	return packages.Root{Dir: r.Root}
}

// scope returns how objects get their namespaces. For an app, and for a package that is named by
// its record, a flag names the namespace of the record: objects may name others.
func (r Request) scope() packages.Scope {
	return packages.Scope{
		Namespace: cmp.Or(r.DefaultNamespace, r.Namespace),
		Enforced:  r.Enforced && !r.ByRecord(),
	}
}

// warn passes a warning to the user.
func (r Request) warn(text string) { r.Notice("Warning: " + text) }
