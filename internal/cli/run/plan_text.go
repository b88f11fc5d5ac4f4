package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/show/changes"
	"github.com/muster-deploy/muster/internal/show/view"
)

// phrases are the texts of operations, with the sign before them.
var phrases = map[view.Verb]struct {
	sign byte
	text string
}{
	view.ToCreate:    {'+', "would be created"},
	view.ToConfigure: {'~', "would be configured"},
	view.ToPrune:     {'-', "would be pruned"},
	view.ToRecreate:  {'~', "would be recreated"},
	view.ToLeave:     {'=', "would be unchanged"},
	view.ToOrphan:    {'=', "would be orphaned"},
	view.ToKeep:      {'=', "would be kept"},
	view.ToSkip:      {'=', "would be skipped"},
	view.ToFail:      {'!', "would fail"},
}

// planChanges returns what changes, and counts all objects.
func planChanges(outlooks []view.Outlook) setflags.Shown {
	shown := setflags.Shown{Totals: totals(outlooks), Before: "live", After: "planned"}
	for _, o := range outlooks {
		if o.Verb() == view.ToLeave && o.Step.Reason == "" && len(contests(o)) == 0 && !isAwaited(o) {
			continue
		}
		shown.Changes = append(shown.Changes, changeOf(o))
	}
	return shown
}

// isAwaited reports whether an object does not exist yet and others create it.
func isAwaited(o view.Outlook) bool { return o.Step.Op == plan.AwaitCreated && o.Step.Have == nil }

// leaves reports whether an object is created once the one that is being deleted is gone.
func leaves(o view.Outlook) bool { return o.Step.Leaving != nil && o.Verb() == view.ToCreate }

// changeOf returns what would change of an object.
func changeOf(o view.Outlook) changes.Change {
	phrase := phrases[o.Verb()]
	if o.Verb() == view.ToPrune && o.Destroys {
		phrase.text = "would be deleted"
	}
	if isAwaited(o) {
		phrase.text = "would be waited for: others create it"
	}
	c := changes.Change{
		Ref: o.Step.Ref, Sign: phrase.sign, Line: o.Step.Ref.String() + " " + phrase.text,
		Verb: phrase.text,
	}
	if leaves(o) {
		c.Line += " " + o.Step.Reason
	}
	if o.Verb() == view.ToFail {
		text := failureText(o.Step, o.Err, o.ServerSide)
		if immutable := (*engine.ImmutableError)(nil); errors.As(o.Err, &immutable) {
			text = immutable.Summary() + sourceSuffix(o.Step.Source) // the line has all fields
		}
		first, more, _ := strings.Cut(text, "\n")
		c.Line += ": " + first
		for line := range strings.Lines(more) {
			c.More = append(c.More, strings.TrimSpace(line))
		}
		return c
	}
	c.Line += sourceSuffix(o.Step.Source)
	switch o.Verb() {
	case view.ToCreate, view.ToConfigure, view.ToRecreate:
		if o.Reason != "" && !(leaves(o) && o.Reason == o.Step.Reason) {
			c.More = []string{o.Reason}
		}
		c.More = append(c.More, contests(o)...)
		before, after := o.Comparable()
		if before == nil && after == nil || len(diff.Between(before, after, diff.Options{})) == 0 {
			c.More = append(c.More, noDiffReason(o))
		} else {
			c.Before, c.After = before, after
		}
	default:
		if o.Reason != "" {
			c.Line += ": " + o.Reason
		}
		c.More = contests(o)
	}
	return c
}

// contests returns a line for each field that others own.
func contests(o view.Outlook) []string { return view.Contests(o.Step, !o.Verb().Changes()) }

// noDiffReason returns why a change has no visible difference.
func noDiffReason(o view.Outlook) string {
	sent := o.SentFields()
	switch fields := diff.ServerFields(sent); {
	case o.Step.Sensitive:
		return view.ContentHidden
	case sent == nil:
		return "no value would change, only who owns the fields"
	case len(fields) > 0:
		return "no value would change, but the manifest has fields that the server alone writes, and " +
			"they are sent each time: " +
			strings.Join(fields, ", ")
	default:
		return "no value would change, only the copy of what was applied last"
	}
}

// totals counts the objects by operation.
func totals(outlooks []view.Outlook) string {
	counts := count(outlooks)
	words := map[view.Verb]string{
		view.ToCreate:    "to create",
		view.ToConfigure: "to configure",
		view.ToRecreate:  "to recreate",
		view.ToLeave:     "unchanged",
		view.ToPrune:     "to prune",
		view.ToOrphan:    "to orphan",
		view.ToKeep:      "kept",
		view.ToSkip:      "skipped",
		view.ToFail:      "would fail",
	}
	if slices.ContainsFunc(outlooks, func(o view.Outlook) bool { return o.Destroys }) {
		words[view.ToPrune] = "to delete"
	}
	var parts []string
	some := false
	for _, v := range view.Verbs {
		if counts[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[v], words[v]))
			some = some || v.Changes() || v == view.ToFail
		}
	}
	switch {
	case len(parts) == 0:
		return "nothing would change: there are no objects"
	case !some:
		return "nothing would change: " + strings.Join(parts, ", ")
	default:
		return "plan: " + strings.Join(parts, ", ")
	}
}

// planTable prints a row for each object.
func planTable(out io.Writer, outlooks []view.Outlook) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tRESOURCE\tACTION\tREASON")
	for _, o := range outlooks {
		reason := o.Reason
		if o.Err != nil {
			reason, _, _ = strings.Cut(o.Err.Error(), "\n")
		}
		ref := o.Step.Ref
		fmt.Fprintf(table, "%s\t%s/%s\t%s\t%s\n", plaintext.Line(ref.Namespace), plaintext.Line(ref.Kind),
			plaintext.Line(ref.Name), o.Verb(), plaintext.Line(reason))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

func count(outlooks []view.Outlook) map[view.Verb]int {
	counts := map[view.Verb]int{}
	for _, o := range outlooks {
		counts[o.Verb()]++
	}
	return counts
}

// plannedObject is one object in a plan as JSON.
type plannedObject struct {
	object.Ref
	Action  view.Verb `json:"action"`
	Source  string    `json:"source,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Error   string    `json:"error,omitempty"`
	Changes diff.Diff `json:"changes,omitempty"`
	// Problem is what the object would fall short of.
	Problem string       `json:"problem,omitempty"`
	Needs   []object.Ref `json:"needs,omitempty"` // objects of the set that it waits for
	// Contested are the fields that others own and that would be overwritten, or left to them.
	Contested []plannedContest `json:"contested,omitempty"`
}

type plannedContest struct {
	Field  string         `json:"field"`
	Left   bool           `json:"left,omitempty"`
	Owners []plannedOwner `json:"owners"`
}

type plannedOwner struct {
	diff.FieldOwner
	Class plan.ManagerClass `json:"class"`
}

func plannedContests(step *plan.Step) (contests []plannedContest) {
	for _, c := range step.Contested {
		planned := plannedContest{Field: c.Field, Left: c.Left}
		for _, owner := range c.Owners {
			planned.Owners = append(planned.Owners, plannedOwner{owner, plan.ClassOf(owner.Manager)})
		}
		contests = append(contests, planned)
	}
	return contests
}

// plannedSet is a plan as JSON: one document with the objects in the order of the plan, and a count
// for each operation.
type plannedSet struct {
	UI        string            `json:"ui"` // version
	Muster    string            `json:"muster"`
	Set       string            `json:"set"`
	Namespace string            `json:"namespace"`
	Cluster   string            `json:"cluster"`
	Folder    string            `json:"folder,omitempty"`
	Objects   []plannedObject   `json:"objects"`
	Summary   map[view.Verb]int `json:"summary"`
}

// problems are the words for objects that an apply would neither apply nor delete.
var problems = map[view.Verb]string{
	view.ToFail: "would fail", view.ToSkip: "would be skipped", view.ToKeep: "would be kept",
}

// planDocument returns the outlooks of a plan as JSON.
func planDocument(outlooks []view.Outlook, p *plan.Plan, h view.RunHeader) plannedSet {
	document := plannedSet{
		UI: view.JSONVersion, Muster: h.Tool, Set: h.Set, Namespace: h.Namespace, Cluster: h.Cluster,
		Folder: h.Folder, Objects: []plannedObject{}, Summary: count(outlooks),
	}
	for _, o := range outlooks {
		planned := plannedObject{
			Ref: o.Step.Ref, Action: o.Verb(), Source: o.Step.Source, Reason: o.Reason,
			Contested: plannedContests(o.Step),
		}
		if o.Err != nil {
			planned.Error = o.Err.Error()
		}
		switch o.Verb() {
		case view.ToCreate, view.ToConfigure, view.ToRecreate, view.ToPrune:
			before, after := o.Comparable()
			planned.Changes = diff.Between(before, after, diff.Options{})
			if len(planned.Changes) == 0 && planned.Reason == "" && o.Verb() != view.ToPrune {
				planned.Reason = noDiffReason(o)
			}
		}
		if o.FallsShort() {
			planned.Problem = problems[o.Verb()]
		}
		planned.Needs = view.NeedsOf(p, o.Step)
		document.Objects = append(document.Objects, planned)
	}
	return document
}

// print writes the document.
func (s plannedSet) print(out io.Writer) error {
	encoder := json.NewEncoder(cli.Raw(out))
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(s); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}
