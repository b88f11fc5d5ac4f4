package sets

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
)

// The names of what a set is compared with, beside the numbers of revisions.
const (
	AgainstFiles = "."    // the files of the set
	AgainstGood  = "good" // the last good revision
)

// Baseline is what the live objects of a set are compared with: the objects of a revision, or those
// that files describe.
type Baseline struct {
	Title    string            // of the set
	Text     string            // what messages call the baseline, as in: revision 8
	Revision *history.Revision // nil for files
	// Newer is the newest revision of the set if that is not Revision, and not one of a failed run
	// with the same objects; else 0.
	Newer int

	set         Set // a revision has another one, with its objects
	membersOnly bool
	request     Request
	cluster     cluster.Writer
	store       *history.Store // nil for files
	desired     []plan.Desired
	newest      *object.Set             // what the newest revision desires
	unstored    map[object.Ref][]string // what the server did not store of the desired objects
	settings    settings
	last        history.Head // the newest revision; zero for files

	operation *Operation        // whose plan is compared; nil until it is needed
	unserved  *cluster.Snapshot // of the objects whose kinds are not served; nil if there are none
}

// NoRevisionError reports a set without a revision to compare with.
type NoRevisionError struct {
	Title string
	Empty bool   // there is none at all
	named string // the flags by which a comparison names files
}

func (e *NoRevisionError) Error() string {
	what := "has no revision of a run that has succeeded"
	if e.Empty {
		what = "has no revision: it was deployed by another program, or without a history"
	}
	return fmt.Sprintf("%s %s; apply it, or compare it with its files (--against %s%s)", e.Title, what,
		AgainstFiles, e.named)
}

// OpenBaseline returns what a request's set is compared with: AgainstFiles, AgainstGood or the
// number of a revision. With membersOnly, comparisons do not look for objects that carry the mark
// of an app and that it has not deployed.
func OpenBaseline(
	ctx context.Context, c cluster.Writer, r Request, against string, membersOnly bool,
) (*Baseline, error) {
	if against == AgainstFiles {
		return openFiles(ctx, c, r, membersOnly)
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
		Title: set.Title(), set: set, cluster: c, store: store, request: r,
		membersOnly: membersOnly,
	}
	number := 0
	if against == AgainstGood {
		head, ok := history.LastApplied(heads)
		if !ok {
			return nil, &NoRevisionError{set.Title(), len(heads) == 0, r.format().named}
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
	return b, nil
}

// openFiles returns the files of a set as a baseline.
func openFiles(
	ctx context.Context, c cluster.Writer, r Request, membersOnly bool,
) (*Baseline, error) {
	if r.Record != "" && !r.NamesArtifact() {
		return nil, errors.New("--record names a package without its folder, so that there are no " +
			"files to compare with; name the folder instead, or leave out --against")
	}
	if len(r.Files) == 0 {
		return nil, fmt.Errorf("--against %s compares with the files of the set, and those of the %s %q "+
			"are not known: name them with -f, as in --against %s -f FILE", AgainstFiles,
			r.format().kind, r.App, AgainstFiles)
	}
	set, err := OpenIn(ctx, c, r)
	if err != nil {
		return nil, err
	}
	b := &Baseline{
		Title: set.Title(), Text: "the files", set: set, cluster: c, request: r,
		membersOnly: membersOnly,
	}
	if b.operation, err = set.PrepareApply(ctx, c, b.options()); err == nil {
		b.desired = b.operation.Manifests
	}
	return b, err
}

// options returns the options of the operation whose plan is compared.
func (b *Baseline) options() operation.ApplyOptions {
	return operation.ApplyOptions{
		Options: policy.Options{
			FieldManager: policy.DefaultManager, AppAnnotations: true, NoPrune: true,
			Now: b.request.Now(), Comparison: policy.Comparison{
				Owners: true, NewestVersions: true, AllKinds: !b.membersOnly, Only: true,
			},
		},
		Definition: operation.SkipDefinition,
	}
}

// prepare sets the operation whose plan is compared, if the baseline has none: that of the objects
// of its revision whose kinds the cluster serves.
func (b *Baseline) prepare(ctx context.Context) error {
	if b.operation != nil {
		return nil
	}
	objects, err := b.served(ctx)
	if err != nil {
		return err
	}
	restored, request := &Restored{Revision: b.Revision, settings: b.settings}, b.request
	request.Notice = func(string) {} // its run has printed it
	if restored.Set, err = restored.open(ctx, request, b.set, objects); err != nil {
		return fmt.Errorf("%s of %s: %w", b.Text, b.Title, err)
	}
	b.operation, err = restored.PrepareApply(ctx, b.cluster, b.options())
	return err
}

// served returns the objects of the revision whose kinds the cluster serves, and notes the others.
// Those whose names the server made are left out: each run created another one.
func (b *Baseline) served(ctx context.Context) (kept []history.Object, err error) {
	var targets []cluster.Target
	for _, obj := range b.Revision.Objects {
		ref, known := object.RefOf(obj.Unstructured), obj.GetAPIVersion() == config.DocVersion
		if !known {
			_, err = b.cluster.Kind(ctx, ref.GroupKind())
		}
		switch {
		case obj.GetName() == "" && !known:
		case known || err == nil:
			kept = append(kept, obj)
		case errors.As(err, new(*cluster.UnknownKindError)):
			targets = append(targets, cluster.Target{Ref: ref})
		default:
			return nil, err
		}
	}
	if len(targets) == 0 {
		return kept, nil
	}
	b.unserved, err = b.cluster.Read(ctx, targets)
	return kept, err
}
