package muster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/input/files"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// Kind is the kind of a set.
type Kind string

// The kinds of sets.
const (
	Package Kind = "package" // with a ResourceGroup as its record, as kpt has it
	App     Kind = "app"     // with a ConfigMap as its record, as kapp has it
)

// Source names a set and its manifests.
type Source struct {
	Kind      Kind
	Namespace string // of the record
	Name      string // of the record; of a package it may be empty: then the folder describes it
	// Files are the folder of a package, or files, folders and URLs of an app. None names a set
	// whose objects are only looked at or destroyed.
	Files []string
	// FilesName is what messages call the folder of Files, as in: oci://registry/shop:stable. Empty
	// is its path.
	FilesName string
	// Root is the folder that bases of kustomizations in Files do not leave. Empty is the git work
	// tree of a folder; without one the working folder if it holds the folder, else the folder.
	Root string
	// Images are the names of images in manifests, with the images that they stand for.
	Images map[string]string
	// DefaultNamespace is that of objects that name none; empty is Namespace.
	DefaultNamespace string
	// Rules are files with readiness rules, beside those that the files of the set bring along.
	Rules []RuleFile
	// NoScripts refuses the rules of an app that are written in ytt: a script may take as much memory
	// as it likes. It is for programs that deploy the manifests of others.
	NoScripts bool
	// Notice receives warnings, a line each; nil ignores them.
	Notice func(text string)
}

// RuleFile is a file with readiness rules.
type RuleFile struct {
	Name string // in messages
	Text string
}

// check returns an error if the source does not name a set.
func (s Source) check() error {
	switch {
	case s.Kind != Package && s.Kind != App:
		return fmt.Errorf("invalid kind of set %q: use %q or %q", s.Kind, Package, App)
	case s.Namespace == "":
		return errors.New("the namespace of the record is missing")
	case s.Name == "" && s.Kind == App:
		return errors.New("an app needs a name")
	case s.Name == "" && len(s.Files) == 0:
		return errors.New("a package needs a name or a folder")
	case s.Kind == Package && len(s.Files) > 1:
		return errors.New("a package has one folder")
	}
	return nil
}

// request returns the source for the packages of the program.
func (s Source) request() sets.Request {
	r := sets.Request{
		Files: s.Files, Namespace: s.Namespace, Enforced: true, DefaultNamespace: s.DefaultNamespace,
		Notice: s.Notice, Now: time.Now, NoScripts: s.NoScripts, Root: s.Root,
	}
	for _, file := range s.Rules {
		r.RuleFiles = append(r.RuleFiles, policy.RuleFile(file))
	}
	if r.Notice == nil {
		r.Notice = func(string) {}
	}
	if s.Kind == App {
		r.App = s.Name
	} else {
		r.Record = s.Name
	}
	if s.FilesName != "" && len(s.Files) == 1 {
		r.Artifacts = map[string]files.Artifact{
			s.Files[0]: {Reference: s.FilesName, Name: s.FilesName, Images: s.Images, Root: s.Root},
		}
	}
	return r
}

// Set is a set of objects with one record. Its manifests were read when it was opened.
type Set struct {
	cluster *Cluster
	request sets.Request
	set     sets.Set
	// revision is the one of the history that the set was opened at; 0 if it was opened by files.
	revision int
}

// Open reads the manifests of a set. The error names file and document of each problem.
func Open(ctx context.Context, c *Cluster, s Source) (*Set, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	r := s.request()
	open := func(ctx context.Context) (sets.Set, error) { return sets.OpenIn(ctx, c.client, r) }
	switch {
	case len(s.Files) > 0:
	case s.Kind == App:
		open = func(ctx context.Context) (sets.Set, error) { return sets.OpenRecord(ctx, r) }
	default:
		open = func(ctx context.Context) (sets.Set, error) { return sets.Find(ctx, c.client, r) }
	}
	set, err := open(ctx)
	if err != nil {
		return nil, missing(err)
	}
	return &Set{cluster: c, request: r, set: set}, nil
}

// Name returns the name of the set and the namespace of its record.
func (s *Set) Name() (namespace, name string) { return s.set.Name() }

// String returns what messages call the set, as in: package "shop".
func (s *Set) String() string { return s.set.Title() }

// Deployed returns the objects that the record in the cluster lists. The error is a *NoRecordError
// if there is no record.
func (s *Set) Deployed(ctx context.Context) ([]Object, error) {
	targets, err := s.set.Targets(ctx, s.cluster.client)
	if err != nil {
		return nil, missing(err)
	}
	return objectsOf(targets.All.Refs()), nil
}

// Mark is the label or annotation that the objects of a set carry.
type Mark struct {
	Text       string // KEY=VALUE
	Annotation bool   // it is no label
}

// Mark returns what marks the objects of the set. It is an error if there is no such set in the
// cluster.
func (s *Set) Mark(ctx context.Context) (Mark, error) {
	mark, err := s.set.Mark(ctx, s.cluster.client)
	return Mark(mark), missing(err)
}

// refsOf returns a set of objects for the packages of the program.
func refsOf(objects []Object) *object.Set {
	refs := object.NewSet()
	for _, o := range objects {
		refs.Insert(o.ref())
	}
	return refs
}

// NoRecordError reports that the cluster has no record of a set.
type NoRecordError struct{ err error }

func (e *NoRecordError) Error() string { return e.err.Error() }

// Unwrap returns what the cluster said.
func (e *NoRecordError) Unwrap() error { return e.err }

// missing returns an error as a *NoRecordError if that is what it says.
func missing(err error) error {
	switch {
	case errors.As(err, new(*sets.NoRecordError)), errors.As(err, new(*packages.NoRecordError)),
		errors.As(err, new(*sets.ElsewhereError)):
		return &NoRecordError{err}
	}
	return err
}
