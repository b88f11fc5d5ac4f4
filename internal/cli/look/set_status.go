package look

import (
	"fmt"
	"io"
	"strings"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/feature/managed"
)

// SetStatus is the JSON of what a Set says about itself.
type SetStatus struct {
	setItem
	State       string            `json:"state"`
	Waits       bool              `json:"waitingForApproval"`
	SourceError string            `json:"sourceError,omitempty"`
	Causes      []managed.Cause   `json:"causes,omitempty"`
	Drifted     []managed.Drifted `json:"drifted,omitempty"`
}

// NewSetStatus returns the JSON of what a Set says about itself; nil for no Set.
func NewSetStatus(s *managed.Set) *SetStatus {
	if s == nil {
		return nil
	}
	d := &SetStatus{
		setItem: newSetItem(s), Waits: s.Waits(), SourceError: s.SourceError(),
		Causes: s.Status.Causes, Drifted: s.Status.Drifted,
	}
	d.State, d.Message = s.State()
	return d
}

// PrintSet prints what a Set says about itself; nothing for no Set.
func PrintSet(env *cli.Env, out io.Writer, s *managed.Set) error {
	if s == nil {
		return nil
	}
	_, err := fmt.Fprintln(out, plaintext.Text(strings.Join(setLines(env, s, nil), "\n")))
	if err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// setLines returns lines on what a Set says about itself, without the causes of some objects, which
// are explained anyway.
func setLines(env *cli.Env, s *managed.Set, explained map[string]bool) []string {
	_, reason := s.State()
	lines := []string{StateLine(s)}
	add := func(format string, args ...any) {
		lines = append(lines, "    "+plaintext.Line(fmt.Sprintf(format, args...)))
	}
	if s.Spec.Suspend {
		add("suspended: the controller leaves it alone; %s ends that", env.Command("resume", s.Title()))
	}
	if s.Waits() {
		add("plan: %s; it waits for approval: %s shows it", s.Status.Plan.Summary,
			env.Command("approve", s.Title()))
	}
	if text := s.SourceError(); text != "" && text != reason {
		add("source: %s", text)
	}
	r := s.Status.Revision
	if r.Applied != "" && r.Attempted != r.Applied {
		add("revision: %s is applied, %s was tried", shortRevision(r.Applied),
			shortRevision(r.Attempted))
	}
	for _, d := range s.Status.Drifted {
		add("drifted: %s", DriftedLine(d))
	}
	for _, c := range s.Status.Causes {
		if !explained[c.Object] {
			add("cause: %s", CauseLine(c))
		}
	}
	return lines
}

// StateLine returns the state of a Set, and why, in one line.
func StateLine(s *managed.Set) string {
	state, reason := s.State()
	line := s.Title() + " is " + state
	if s.Spec.Suspend {
		line += ",Suspended" // as kubectl writes two states of a node
	}
	if reason != "" {
		line += ": " + plaintext.Line(reason)
	}
	return line
}

// CauseLine returns why an object is not ready, in one line.
func CauseLine(c managed.Cause) string {
	text := c.Object
	if c.Source != "" {
		text += " (" + c.Source + ")"
	}
	return plaintext.Line(text + ": " + c.Message)
}

// DriftedLine returns what others changed of an object, in one line.
func DriftedLine(d managed.Drifted) string {
	text := d.Object + " was " + d.Kind
	if len(d.Fields) > 0 {
		text += ": " + strings.Join(d.Fields, ", ")
	}
	if len(d.Managers) > 0 {
		text += " by " + strings.Join(d.Managers, ", ")
	}
	return plaintext.Line(text)
}
