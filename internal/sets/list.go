package sets

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/feature/adopt"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/packages"
)

// The kinds of sets.
const (
	KindPackage = "package"
	KindApp     = "app"
)

// Result is how the last run of a set ended, as far as its record says.
type Result string

// The results. A record without any is that of a set that was never deployed, or of a tool that
// stores none.
const (
	Succeeded  Result = "succeeded"
	Applied    Result = "applied" // it did not wait until all objects were ready
	Failed     Result = "failed"
	Unfinished Result = "unfinished" // it is running, or it was interrupted
	Unreadable Result = "unreadable" // the record is damaged
)

// Listed is what the record of a set says about it.
type Listed struct {
	Kind       string // KindPackage, KindApp or, of the set of another tool, as in adopt.Listed
	Tool       string // that deploys the set, as far as the record says; empty for packages and apps
	Namespace  string // of the record
	Name       string
	Record     object.Ref
	Identity   string // the ID of an inventory, or the label of an app's objects
	Objects    int    // number of recorded objects; -1 if the record does not say
	LastResult Result // empty if it is unknown
	LastRun    time.Time
	Created    time.Time  // of the record
	Labels     labels.Set // of the record
	Err        error      // why the record cannot be read
}

// IsOwn reports whether the record of the set has one of the formats, and not that of another tool.
func (l Listed) IsOwn() bool { return formatOfKind(l.Kind) != nil }

// List returns the sets whose records are in a namespace, or in all namespaces if it is empty, by
// namespace, name and kind. It sends a list for each format of a record, and returns what could be
// listed together with an error about the rest.
func List(ctx context.Context, c cluster.Writer, namespace string) ([]Listed, error) {
	packaged, failed := packages.List(ctx, c, namespace)
	named, err := (&app.Store{Cluster: c}).List(ctx, namespace, nil)
	all := make([]Listed, 0, len(packaged)+len(named))
	for _, r := range packaged {
		all = append(all, listedPackage(r))
	}
	for _, a := range named {
		all = append(all, listedApp(a))
	}
	sortListed(all)
	return all, joinDistinct(failed, errors.Unwrap(err))
}

// ListAll returns the sets of List, and those of other tools, as adopt.List finds them.
func ListAll(ctx context.Context, c cluster.Writer, namespace string) ([]Listed, error) {
	all, failed := List(ctx, c, namespace)
	others, err := adopt.List(ctx, c, namespace)
	for _, l := range others {
		if slices.ContainsFunc(all, func(own Listed) bool { return own.Record == l.Record }) {
			continue // a record that is the parent of an ApplySet too
		}
		all = append(all, Listed{
			Kind: l.Kind, Tool: l.Tool, Namespace: l.Namespace, Name: l.Name, Record: l.Record,
			Identity: l.ID, Objects: l.Objects, LastResult: Result(l.Result), LastRun: l.LastRun,
			Created: l.Created, Labels: l.Labels, Err: l.Err,
		})
	}
	sortListed(all)
	return all, joinDistinct(failed, err)
}

// sortListed sorts sets by namespace, name and kind.
func sortListed(all []Listed) {
	slices.SortStableFunc(all, func(a, b Listed) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Kind, b.Kind))
	})
}

// joinDistinct joins errors of which the second is left out if the first says the same: packages
// and apps have records of one kind.
func joinDistinct(first, second error) error {
	if first != nil && second != nil && strings.Contains(first.Error(), second.Error()) {
		return first
	}
	return errors.Join(first, second)
}

// GroupApps returns the names of the apps of a group whose records are in a namespace, sorted.
func GroupApps(ctx context.Context, c cluster.Writer, namespace, group string) ([]string, error) {
	found, err := (&app.Client{Records: &app.Store{Cluster: c}}).GroupApps(ctx,
		app.GroupName{Name: group, Namespace: namespace})
	names := make([]string, len(found))
	for i, a := range found {
		names[i] = a.Name
	}
	return names, errors.Unwrap(err) // without the prefix of kapp
}

// listedPackage returns what the record of a package says.
func listedPackage(r packages.Record) Listed {
	l := Listed{
		Kind: KindPackage, Namespace: r.Inventory.Ref.Namespace, Name: r.Inventory.Ref.Name,
		Record: r.Inventory.Ref, Identity: r.Inventory.ID, Created: r.Created,
		Objects: -1, LastResult: Unreadable, Labels: r.Inventory.Labels, Err: r.Err,
	}
	if r.State != nil {
		l.Objects, l.LastResult = len(r.State.Members), memberResult(r.State.Members)
	}
	return l
}

// memberResult returns the result of the run that stored the conditions of members. Members that
// were not written do not count.
func memberResult(members []record.Member) Result {
	result := Result("")
	for _, m := range members {
		if wasNotAwaited(m) && result != Unfinished {
			result = Applied
		}
		for _, progress := range []record.Progress{m.Actuation, m.Reconcile} {
			switch progress {
			case record.Failed, record.TimedOut:
				return Failed
			case record.Pending:
				result = Unfinished
			case record.Succeeded:
				result = cmp.Or(result, Succeeded)
			}
		}
	}
	return result
}

// wasNotAwaited reports whether a member was written by a run that did not wait until it was ready.
func wasNotAwaited(m record.Member) bool {
	return m.Actuation == record.Succeeded && m.Reconcile == record.Skipped
}

// listedApp returns what the record of an app says.
func listedApp(a *app.App) Listed {
	l := Listed{
		Kind: KindApp, Namespace: a.Namespace, Name: a.Name, Record: a.RecordRef(),
		Created: a.Created(), Objects: -1, LastResult: Unreadable, Labels: a.Labels(), Err: a.Err,
	}
	if a.Err != nil {
		named := &appSet{request: Request{App: a.Name, Namespace: a.Namespace}}
		l.Err = named.nativeError(a.Err)
		return l
	}
	l.Identity, l.LastRun = a.Selector(), a.Meta.LastDeployment.StartedAt
	l.LastResult = appResult(a)
	if members, ok := a.Members(); ok {
		l.Objects = len(members)
	}
	return l
}

// appResult returns the result of the last run of an app.
func appResult(a *app.App) Result {
	last := a.Meta.LastDeployment
	switch {
	case last.StartedAt.IsZero():
		return ""
	case last.Successful == nil:
		return Unfinished
	case *last.Successful:
		if members, _ := a.Members(); slices.ContainsFunc(members, wasNotAwaited) {
			return Applied
		}
		return Succeeded
	default:
		return Failed
	}
}
