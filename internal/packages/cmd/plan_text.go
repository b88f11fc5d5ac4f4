package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/view"
)

// phrases say what would be done, with the sign that stands before it.
var phrases = map[verb]struct {
	sign byte
	text string
}{
	toCreate:    {'+', "would be created"},
	toConfigure: {'~', "would be configured"},
	toPrune:     {'-', "would be pruned"},
	toOrphan:    {'=', "would be orphaned"},
	toKeep:      {'=', "would be kept"},
	toSkip:      {'=', "would be skipped"},
	toFail:      {'!', "would fail"},
}

// planText shows what would change, with the differences, and counts all objects.
func planText(out io.Writer, t view.Terminal, outlooks []outlook) error {
	var changes []view.Row
	for _, o := range outlooks {
		if o.verb() == toLeave {
			continue
		}
		change, err := o.change()
		if err != nil {
			return err
		}
		changes = append(changes, change)
	}
	return view.PrintChanges(out, t, changes, totals(outlooks))
}

func (o outlook) change() (view.Row, error) {
	phrase := phrases[o.verb()]
	c := view.Row{Sign: phrase.sign, Line: o.step.Ref.String() + " " + phrase.text}
	if o.verb() == toFail {
		first, more, _ := strings.Cut(problem(o.step, o.err), "\n")
		c.Line += ": " + first
		for line := range strings.Lines(more) {
			c.More = append(c.More, strings.TrimSpace(line))
		}
		return c, nil
	}
	c.Line += from(o.step.Source)
	switch o.verb() {
	case toCreate, toConfigure:
		if o.reason != "" {
			c.More = []string{o.reason}
		}
		before, after := o.clear()
		text, err := view.UnifiedDiff(before, after)
		if err != nil {
			return c, fmt.Errorf("%s: %w", o.step.Ref, err)
		}
		if text == "" {
			c.More = append(c.More, o.unseen())
		}
		c.Diff = text
	default:
		if o.reason != "" {
			c.Line += ": " + o.reason
		}
	}
	return c, nil
}

// unseen says why there is nothing to see of a change.
func (o outlook) unseen() string {
	sent := o.sent()
	switch fields := diff.ServerFields(sent); {
	case o.step.Sensitive:
		return undisclosed
	case sent == nil:
		return "no value would change, only who owns the fields"
	case len(fields) > 0:
		return "no value would change, but the manifest has fields that the server alone writes, and they are sent each time: " +
			strings.Join(fields, ", ")
	default:
		return "no value would change, only the copy of what was applied last"
	}
}

// totals count the objects by what would be done to them. What there is none of is left out.
func totals(outlooks []outlook) string {
	counts := count(outlooks)
	words := map[verb]string{toCreate: "to create", toConfigure: "to configure", toLeave: "unchanged", toPrune: "to prune",
		toOrphan: "to orphan", toKeep: "kept", toSkip: "skipped", toFail: "would fail"}
	var parts []string
	changes := false
	for _, v := range verbs {
		if counts[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[v], words[v]))
			changes = changes || v.changes() || v == toFail
		}
	}
	switch {
	case len(parts) == 0:
		return "nothing would change: there are no objects"
	case !changes:
		return "nothing would change: " + strings.Join(parts, ", ")
	default:
		return "plan: " + strings.Join(parts, ", ")
	}
}

func count(outlooks []outlook) map[verb]int {
	counts := map[verb]int{}
	for _, o := range outlooks {
		counts[o.verb()]++
	}
	return counts
}

// plannedObject is one object in the JSON form of a plan.
type plannedObject struct {
	object.Ref
	Action  verb      `json:"action"`
	Source  string    `json:"source,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Error   string    `json:"error,omitempty"`
	Changes diff.Diff `json:"changes,omitempty"`
}

// planJSON writes one document: the objects in the order of the plan, and how many there are of each action.
func planJSON(out io.Writer, outlooks []outlook) error {
	document := struct {
		Objects []plannedObject `json:"objects"`
		Summary map[verb]int    `json:"summary"`
	}{Objects: []plannedObject{}, Summary: count(outlooks)}
	for _, o := range outlooks {
		p := plannedObject{Ref: o.step.Ref, Action: o.verb(), Source: o.step.Source, Reason: o.reason}
		if o.err != nil {
			p.Error = o.err.Error()
		}
		if o.verb() == toCreate || o.verb() == toConfigure {
			before, after := o.clear()
			p.Changes = diff.Between(before, after, diff.Options{})
			if len(p.Changes) == 0 && p.Reason == "" {
				p.Reason = o.unseen()
			}
		}
		document.Objects = append(document.Objects, p)
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}
