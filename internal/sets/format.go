package sets

import (
	"context"
	"errors"

	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// format is what commands have to know of a format besides operation.Format: how its sets are
// opened and called. Nothing else asks which format a set has.
type format struct {
	kind  string     // of a set, as List names it
	owner owner.Kind // that the marks of objects name
	flag  string     // that names a set by its record

	files string // what messages call its files
	named string // the flags by which a comparison names them, after --against .
	// listable is set if the mark of objects is a label, by which those are found that others added.
	listable bool

	open   func(context.Context, Request) (Set, error) // with its files
	record func(context.Context, Request) (Set, error) // without them
	// openState opens a set with the files of a request in place of its own.
	openState func(context.Context, *States, Request) (Set, error)

	adoption adoptionFormat
}

// adoptionFormat is what the adoption of a set of another tool has to know of a format.
type adoptionFormat struct {
	open  func(context.Context, Request) (Set, error)
	draft func(Request, *packages.Draft, []manifest.Object) Set // of a folder that is not written yet
	// created is set if the record does not exist, and has no ID, before objects are marked. A folder
	// has no inventory then.
	created bool
	marks   []string // annotations of an adopted object beside what was applied
	drops   []string // annotations of kubectl that an adopted object loses
}

// packageFormat returns the format of packages.
func packageFormat() *format {
	return &format{
		kind: KindPackage, owner: owner.Package, flag: "--record", files: "the folder",
		open: openPackage, record: openPackageRecord, openState: openPackageState,
		adoption: adoptionFormat{open: openAdoptingPackage, draft: draftPackage},
	}
}

// appFormat returns the format of apps.
func appFormat() *format {
	return &format{
		kind: KindApp, owner: owner.App, flag: "-a", files: "the files", named: " -f FILE",
		listable: true,
		open:     openApp, record: openAppRecord, openState: openAppState,
		adoption: adoptionFormat{
			open: openAdoptingApp, draft: draftApp, created: true,
			marks: []string{resource.AnnIdentity}, drops: []string{resource.AnnKubectlApplied},
		},
	}
}

// ByRecord reports whether the request names the set by its record, and not by its folder.
func (r Request) ByRecord() bool { return r.App != "" || r.Record != "" }

// CheckDeletesAdded returns an error unless the objects that others added to a set can be found.
func (r Request) CheckDeletesAdded() error {
	if !r.format().listable {
		return errors.New("--delete-added is for apps: the objects of a package are not found by a mark")
	}
	return nil
}

// format returns the format of the set that a request names: a name alone is that of an app.
func (r Request) format() *format {
	if r.App != "" {
		return appFormat()
	}
	return packageFormat()
}

// formatOfKind returns the format of the sets of a kind; nil for those of other tools.
func formatOfKind(kind string) *format {
	for _, f := range []*format{packageFormat(), appFormat()} {
		if f.kind == kind {
			return f
		}
	}
	return nil
}
