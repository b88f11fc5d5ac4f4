package sets

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// The names of what a set is compared with, beside the numbers of revisions.
const (
	AgainstFiles = "."    // the files of the set
	AgainstGood  = "good" // the last good revision
)

// Baseline is what the live objects of a set are compared with: the objects of a revision, or those
// that files describe.
type Baseline struct {
	DesiredOnly bool // Find looks for no other objects that carry the mark of an app

	Title    string            // of the set
	Text     string            // what messages call the baseline, as in: revision 8
	Revision *history.Revision // nil for files
	// Newer is the newest revision of the set if that is not Revision, and not one of a failed run
	// with the same objects; else 0.
	Newer int

	set      Set
	app      bool
	request  Request
	cluster  cluster.Writer
	store    *history.Store // nil for files
	desired  []plan.Desired
	newest   *object.Set             // what the newest revision desires
	unstored map[object.Ref][]string // what the server did not store of the desired objects

	completed completions // of the newest revision; nil until they are read
	settings  settings
	last      history.Head   // the newest revision; zero for files
	rules     *config.Config // of an app, with its rebase rules; nil for a package
}

// NoRevisionError reports a set without a revision to compare with.
type NoRevisionError struct {
	Title string
	Empty bool // there is none at all
}

func (e *NoRevisionError) Error() string {
	what := "has no revision of a run that has succeeded"
	if e.Empty {
		what = "has no revision: it was deployed by another program, or without a history"
	}
	return fmt.Sprintf("%s %s; apply it, or compare it with its "+
		"files (--against .)", e.Title, what)
}

// OpenBaseline returns what a request's set is compared with: AgainstFiles, AgainstGood or the
// number of a revision.
func OpenBaseline(
	ctx context.Context, c cluster.Writer, r Request, against string,
) (*Baseline, error) {
	if against == AgainstFiles {
		return openFiles(ctx, c, r)
	}
	set, store, err := OpenRevisions(ctx, c, r)
	if err != nil {
		return nil, err
	}
	heads, err := store.List(ctx)
	if err != nil {
		return nil, err
	}
	b := &Baseline{
		Title: set.Title(), set: set, cluster: c, store: store, app: r.App != "", request: r,
	}
	number := 0
	if against == AgainstGood {
		head, ok := history.LastApplied(heads)
		if !ok {
			return nil, &NoRevisionError{set.Title(), len(heads) == 0}
		}
		number = head.Number
	} else if number, err = strconv.Atoi(against); err != nil || number <= 0 {
		return nil, fmt.Errorf("--against %s is not a revision: use its number, %s for the last good "+
			"one, or %s for the files of the set", against, AgainstGood, AgainstFiles)
	}
	if b.Revision, err = store.Read(ctx, number); err != nil {
		return nil, err
	}
	b.Text = fmt.Sprintf("revision %d", number)
	if b.settings, err = readSettings(b.Revision.Settings); err != nil {
		return nil, fmt.Errorf("read revision %d: %w", number, err)
	}
	b.unstored = unstoredOf(b.Revision)
	for _, obj := range b.Revision.Objects {
		b.desired = append(b.desired, plan.Desired{Object: obj.Unstructured, Source: obj.Source})
	}
	b.last = heads[0]
	if newest := heads[0]; newest.Number > number && !history.Repeats(heads, number) {
		b.Newer = newest.Number
		revision, err := store.Read(ctx, newest.Number)
		if err != nil {
			return nil, err
		}
		b.newest = object.NewSet()
		for _, obj := range revision.Objects {
			b.newest.Insert(object.RefOf(obj.Unstructured))
		}
	}
	return b, b.readRules()
}

// openFiles returns the files of a set as a baseline.
func openFiles(ctx context.Context, c cluster.Writer, r Request) (*Baseline, error) {
	if r.Record != "" && !r.NamesArtifact() {
		return nil, errors.New("--record names a package without its folder, so that there are no " +
			"files to compare with; name the folder instead, or leave out --against")
	}
	if r.App != "" && len(r.Files) == 0 {
		return nil, fmt.Errorf("no manifests are given for the app %q: name files or folders with -f",
			r.App)
	}
	set, err := OpenIn(ctx, c, r)
	if err != nil {
		return nil, err
	}
	op, err := set.PrepareApply(ctx, c, packages.ApplyOptions{
		PlanOptions: packages.PlanOptions{AppAnnotations: true, Now: r.Now()},
	})
	if err != nil {
		return nil, err
	}
	b := &Baseline{
		Title: set.Title(), Text: "the files", set: set, app: r.App != "", cluster: c,
		desired: op.Manifests, request: r,
	}
	return b, b.readRules()
}

// readRules reads the rules of an app: its own, and those that every app has.
func (b *Baseline) readRules() error {
	if !b.app {
		return nil
	}
	all := make([]resource.Resource, len(b.desired))
	for i, d := range b.desired {
		all[i] = resource.Resource{Unstructured: d.Object.DeepCopy(), Origin: d.Source}
	}
	var err error
	if _, b.rules, err = config.Extract(all, app.ConfigVersion); err != nil {
		return fmt.Errorf("read the rules of %s: %w", b.Title, err)
	}
	if err := b.request.checkRules(b.rules); err != nil {
		return fmt.Errorf("%s of %s: %w", b.Text, b.Title, err)
	}
	return nil
}

// Desired returns the objects that are compared with live ones, in the order of the baseline.
func (b *Baseline) Desired() []object.Ref {
	var refs []object.Ref
	for _, d := range b.desired {
		if b.isCompared(d.Object) {
			refs = append(refs, object.RefOf(d.Object))
		}
	}
	return refs
}

// isCompared reports whether an object is one that runs of the set write and update. One whose name
// the server makes is created by each run, and none is its own.
func (b *Baseline) isCompared(obj *unstructured.Unstructured) bool {
	if obj.GetAPIVersion() == config.DocVersion || obj.GetName() == "" {
		return false
	}
	annotations := object.AnnotationsOf(obj)
	for _, key := range []string{resource.AnnNoop, resource.AnnExists} {
		if _, ok := annotations.Lookup(key); ok {
			return false
		}
	}
	return true
}
