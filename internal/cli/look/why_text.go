package look

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/base/suggest"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/feature/livetree"
	"github.com/muster-deploy/muster/internal/feature/managed"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/show/view"
)

// explanation is what why prints.
type explanation struct {
	Set       string          `json:"set"`
	Namespace string          `json:"namespace"` // of the record
	Ready     bool            `json:"ready"`     // nothing is to explain
	Revision  int             `json:"revision,omitempty"`
	Time      time.Time       `json:"time,omitzero"` // of the revision
	Outcome   history.Outcome `json:"outcome,omitempty"`
	Failures  []string        `json:"failures,omitempty"` // of the revision
	Run       *lock.Info      `json:"run,omitempty"`      // that has not ended
	Objects   []*unready      `json:"objects"`
	Managed   *SetStatus      `json:"managedSet,omitempty"` // that keeps the set

	keeper *managed.Set
	total  int
}

// addSet adds the Set that keeps the set; nil for none. While it is not ready, nor is the set.
func (e *explanation) addSet(s *managed.Set) {
	if e.Managed, e.keeper = NewSetStatus(s), s; s != nil {
		state, _ := s.State()
		e.Ready = e.Ready && state == managed.StateReady
	}
}

// unready is an object that is not ready, or that failed.
type unready struct {
	Group     string             `json:"group"`
	Kind      string             `json:"kind"`
	Namespace string             `json:"namespace,omitempty"`
	Name      string             `json:"name"`
	Status    ready.State        `json:"status,omitempty"`
	Message   string             `json:"message,omitempty"`
	Error     string             `json:"error,omitempty"` // of the write
	Causes    []ready.Cause      `json:"causes,omitempty"`
	Events    []livetree.Warning `json:"events,omitempty"`   // warnings, the latest first
	WaitsFor  []string           `json:"waitsFor,omitempty"` // objects that are not ready
	Waiting   []string           `json:"waiting,omitempty"`  // objects that wait for it
	Next      string             `json:"next,omitempty"`     // the command that shows more

	ref object.Ref
}

// newUnready returns an object with the status and the causes of an event. The flags are those of
// kubectl for the cluster.
func newUnready(e event.Event, flags []string) *unready {
	u := &unready{
		Group: e.Ref.Group, Kind: e.Ref.Kind, Namespace: e.Ref.Namespace, Name: e.Ref.Name,
		Status: e.Status.State, Message: e.Status.Message, Causes: e.Causes,
		ref: e.Ref,
	}
	if u.Status != ready.NotFound || len(e.Causes) > 0 {
		u.Next = view.NextCommand(e.Ref, e.Causes, flags...)
	}
	return u
}

// newEvidence returns an object with what a revision says about its failure.
func newEvidence(v history.Evidence) *unready {
	u := &unready{
		Group: v.Object.Group, Kind: v.Object.Kind, Namespace: v.Object.Namespace, Name: v.Object.Name,
		Message: v.State, Error: v.Error, ref: v.Object,
	}
	for _, c := range v.Causes {
		u.Causes = append(u.Causes, ready.Cause{
			Object: c.Object, Count: c.Count, Message: c.Message, Container: c.Container, Log: c.Log,
		})
	}
	return u
}

// print prints the explanation for people.
func (e *explanation) print(env *cli.Env) error {
	var b bytes.Buffer
	fmt.Fprintln(&b, plaintext.Message(e.headline(env)))
	if e.keeper != nil {
		explained := map[string]bool{}
		for _, u := range e.Objects {
			explained[u.ref.String()] = len(u.Causes) > 0
		}
		fmt.Fprintln(&b, strings.Join(setLines(env, e.keeper, explained), "\n"))
	}
	if e.Run != nil {
		fmt.Fprintln(&b, plaintext.Message(runText(e.Run, env.Now())))
	}
	if len(e.Objects) == 0 {
		for _, failure := range e.Failures {
			fmt.Fprintln(&b, plaintext.Message("- "+failure))
		}
	}
	for _, u := range e.Objects {
		b.WriteString("\n")
		u.print(&b, env.Now())
	}
	if _, err := env.Out.Write([]byte(plaintext.Printable(b.String()))); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// headline returns the first line: how many objects are not ready.
func (e *explanation) headline(env *cli.Env) string {
	title, objects := fmt.Sprintf("%s in namespace %s", e.Set, e.Namespace), "objects"
	if e.total == 1 {
		objects = "object"
	}
	switch {
	case e.Revision > 0 && len(e.Objects) == 0 && e.Ready:
		return fmt.Sprintf("%s: no object failed in revision %d", title, e.Revision)
	case e.Revision > 0:
		outcome := map[history.Outcome]string{
			history.Failed: "failed", history.Interrupted: "was interrupted",
			history.Applied: "did not wait and ended",
		}[e.Outcome]
		if outcome == "" {
			outcome = "succeeded"
		}
		return fmt.Sprintf("%s: the run of revision %d %s %s ago", title, e.Revision, outcome,
			ageText(env, e.Time))
	case e.total == 0:
		return title + ": no objects"
	case len(e.Objects) == 0 && e.total == 1:
		return title + ": the object is ready"
	case len(e.Objects) == 0:
		return fmt.Sprintf("%s: all %d objects are ready", title, e.total)
	}
	verb := "are"
	if len(e.Objects) == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%s: %d of %d %s %s not ready", title, len(e.Objects), e.total, objects, verb)
}

// print prints an object.
func (u *unready) print(b *bytes.Buffer, now time.Time) {
	add := func(line string) { fmt.Fprintln(b, plaintext.Message(line)) }
	line := u.ref.String()
	if u.Status != "" {
		line += " is " + string(u.Status)
	}
	if u.Message != "" {
		line += ": " + u.Message
	}
	add(line)
	if u.Error != "" {
		add("    error: " + u.Error)
	}
	status := ready.Status{State: u.Status, Message: u.Message}
	for _, line := range view.Causes(event.Event{Ref: u.ref, Status: status, Causes: u.Causes}) {
		add(line)
	}
	for _, w := range u.Events {
		times, age := "", ""
		if w.Count > 1 {
			times = fmt.Sprintf(", %d times", w.Count)
		}
		if !w.Last.IsZero() {
			age = view.Age(max(0, now.Sub(w.Last))) + " ago"
		}
		message := strings.Join(strings.Fields(w.Message), " ")
		add(fmt.Sprintf("    event %s%s: %s: %s: %s", age, times, w.Object.Short(), w.Reason, message))
	}
	if len(u.WaitsFor) > 0 {
		add("    waits for: " + strings.Join(u.WaitsFor, ", "))
	}
	if len(u.Waiting) > 0 {
		add("    waiting for it: " + strings.Join(u.Waiting, ", "))
	}
	if u.Next != "" {
		add("    next: " + u.Next)
	}
}

// didYouMean returns the objects that a name may stand for, as the end of an error.
func didYouMean(name string, refs []object.Ref) string {
	var names []string
	for _, ref := range refs {
		short := ref.Short()
		kind, own, _ := strings.Cut(short, "/")
		plain, _, _ := strings.Cut(kind, ".")
		names = append(names, plain+"/"+own)
	}
	return suggest.Hint(name, names, "")
}
