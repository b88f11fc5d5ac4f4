package sets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/input/files"
	"github.com/muster-deploy/muster/internal/sets/packages"
)

// The names of states beside those of revisions and files.
const (
	Live   = "live" // the objects in the cluster
	Folder = "."    // what the request names
)

// State is a set at some time or in some place: as a revision has it, as files describe it, or as
// it is in the cluster.
type State struct {
	Title string // what messages call it: revision 6
	Short string // the same in one word: revision-6

	live     bool
	revision *history.Revision // nil unless the state is one
	set      Set               // what describes the objects; nil for a revision and the cluster
}

// States opens the states of one set.
type States struct {
	Cluster cluster.Writer
	Request Request
	// ServerSide compares with the cluster by a dry run of a server-side apply.
	ServerSide bool
	// Ignore are fields that the set leaves to others; they do not differ from those of the cluster.
	Ignore diff.IgnoreRules

	set   Set // without its manifests
	store *history.Store
	heads []history.Head
}

// stateForm is one way to name a state.
type stateForm struct {
	matches func(text string) bool
	open    func(s *States, ctx context.Context, text string) (*State, error)
}

// stateForms are the ways to name a state. The first that matches a text decides.
var stateForms = []stateForm{
	{func(text string) bool { return text == Live }, (*States).openLive},
	{func(text string) bool { return text == Folder }, (*States).openOwn},
	{history.IsName, (*States).openRevision},
	{func(string) bool { return true }, (*States).openFiles},
}

// Open returns the state that a text names: Live, Folder, a revision by its number, history.Last or
// history.Good, or a folder, a file or a URL with manifests.
func (s *States) Open(ctx context.Context, text string) (*State, error) {
	for _, form := range stateForms {
		if form.matches(text) {
			return form.open(s, ctx, text)
		}
	}
	panic("the last form matches all texts")
}

// HasFiles reports whether the request names manifests.
func (s *States) HasFiles() bool { return len(s.Request.Files) > 0 }

// openLive returns the state of the cluster.
func (s *States) openLive(context.Context, string) (*State, error) {
	return &State{Title: "the cluster", Short: Live, live: true}, nil
}

// openOwn returns the state that the manifests of the set describe.
func (s *States) openOwn(ctx context.Context, _ string) (*State, error) {
	if !s.HasFiles() {
		return nil, fmt.Errorf("%q means the manifests of the set, but only its record is named: give "+
			"its files, or the path of a folder", Folder)
	}
	set, err := OpenIn(ctx, s.Cluster, s.Request)
	if err != nil {
		return nil, err
	}
	return &State{Title: set.format().files, Short: "files", set: set}, nil
}

// base returns the set without its manifests, and its revisions, the newest first.
func (s *States) base(ctx context.Context) (Set, []history.Head, error) {
	if s.set != nil {
		return s.set, s.heads, nil
	}
	var err error
	if s.set, s.store, err = OpenRevisions(ctx, s.Cluster, s.Request); err == nil {
		s.heads, err = s.store.List(ctx)
	}
	return s.set, s.heads, err
}

// openRevision returns the state of a revision.
func (s *States) openRevision(ctx context.Context, text string) (*State, error) {
	_, heads, err := s.base(ctx)
	if err != nil {
		return nil, err
	}
	head, err := s.store.Find(heads, text)
	if err != nil {
		return nil, err
	}
	r, err := s.store.Read(ctx, head.Number)
	if err != nil {
		return nil, err
	}
	return &State{
		Title: fmt.Sprintf("revision %d", r.Number), Short: fmt.Sprintf("revision-%d", r.Number),
		revision: r,
	}, nil
}

// openFiles returns the state that other manifests describe.
func (s *States) openFiles(ctx context.Context, path string) (*State, error) {
	r := s.Request
	r.Files = []string{path}
	state := &State{Title: path, Short: shortName(path)}
	if fetched, ok := r.Artifacts[path]; ok {
		state.Title, state.Short = fetched.Name, "artifact"
	}
	var err error
	state.set, err = r.format().openState(ctx, s, r)
	return state, err
}

// openAppState returns the app of a request with other files.
func openAppState(ctx context.Context, s *States, r Request) (Set, error) {
	set, err := openApp(ctx, r)
	return set, s.explain(r.folder(), err)
}

// openPackageState returns the package of a request with the objects of another folder.
func openPackageState(ctx context.Context, s *States, r Request) (Set, error) {
	objects, err := s.readPackage(ctx, r.folder())
	if err != nil {
		return nil, s.explain(r.folder(), err)
	}
	if err := checkRecords(objects); err != nil {
		return nil, err
	}
	base, err := s.ownSet(ctx)
	if err != nil {
		return nil, err
	}
	r.Enforced = false
	return base.restored(restoredFiles{request: r, objects: objects})
}

// ownSet returns the set of the request. It may have no record yet.
func (s *States) ownSet(ctx context.Context) (Set, error) {
	switch {
	case s.Request.NamesArtifact():
		return OpenIn(ctx, s.Cluster, s.Request)
	case s.Request.Record != "":
		set, _, err := s.base(ctx)
		return set, err
	default:
		return OpenRecord(ctx, s.Request)
	}
}

// readPackage returns the objects of a folder, which may be a package, or of other manifests.
func (s *States) readPackage(ctx context.Context, path string) ([]manifest.Object, error) {
	_, fetched := s.Request.Artifacts[path]
	if info, err := os.Stat(path); err == nil && info.IsDir() && !fetched {
		p, err := packages.Open(ctx, packages.Input{
			Folder: path, Notice: s.Request.Notice, Root: s.Request.rootOf(path),
		})
		if none := (*packages.NoInventoryError)(nil); !errors.As(err, &none) {
			if err != nil {
				return nil, err
			}
			return p.Objects, manifest.NameGenerated(p.Objects)
		}
	}
	return files.Read(ctx, s.Request.fileOptions(path))
}

// explain adds to the error of a path that does not exist what else a state can be.
func (s *States) explain(path string, err error) error {
	if _, missing := os.Stat(path); err == nil || !os.IsNotExist(missing) ||
		strings.ContainsAny(path, `/\:`) {
		return err
	}
	return fmt.Errorf("%w; a state is the number of a revision, %s, %s, %s, %s for the files of the "+
		"set, or the path of a folder or file", err, history.Last, history.Good, Live, Folder)
}

// shortName returns the name of a path in one word.
func shortName(path string) string {
	name := filepath.Base(filepath.Clean(path))
	if name == "." || name == ".." || name == string(filepath.Separator) || path == packages.Stdin ||
		strings.Contains(path, "://") {
		return "files"
	}
	return name
}

// manifests returns the objects of a state as its files had them, in their namespaces.
func (s *States) manifests(ctx context.Context, state *State) ([]described, error) {
	if state.revision != nil {
		objects := make([]described, len(state.revision.Objects))
		for i, obj := range state.revision.Objects {
			objects[i] = described{
				Desired: plan.Desired{Object: obj.Unstructured, Source: obj.Source}, stored: &obj,
			}
		}
		return objects, nil
	}
	op, err := state.set.PrepareApply(ctx, s.Cluster, s.options())
	if err != nil {
		return nil, err
	}
	var objects []described
	for _, d := range op.Manifests {
		objects = append(objects, described{Desired: d})
	}
	return objects, nil
}

// described is an object of a state.
type described struct {
	plan.Desired
	stored *history.Object // of a revision; else nil
}

// withheld returns why the data of a Secret is not known; nil if it is.
func (d described) withheld() error {
	if d.stored == nil {
		return nil
	}
	return d.stored.Withheld
}

// object returns the object as a revision stores it.
func (d described) object() history.Object {
	if d.stored != nil {
		return *d.stored
	}
	return history.Object{Unstructured: d.Object}
}
