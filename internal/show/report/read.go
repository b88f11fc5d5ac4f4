package report

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
)

// maxLine limits the bytes of a line.
const maxLine = 64 << 20

// majorVersion is the version of the JSON that this package understands; see view.JSONVersion.
const majorVersion = "1."

// Reader collects the lines of runs. The zero value is empty. One goroutine may use it.
type Reader struct {
	runs []*Run
	rest []byte
}

// line is one line of JSON: the keys of all types.
type line struct {
	object.Ref
	Type      string        `json:"type"`
	UI        string        `json:"ui"`
	Muster    string        `json:"muster"`
	Timestamp time.Time     `json:"timestamp"`
	Elapsed   float64       `json:"elapsed"`
	Command   string        `json:"command"`
	Set       string        `json:"set"`
	Cluster   string        `json:"cluster"`
	Folder    string        `json:"folder"`
	DryRun    bool          `json:"dryRun"`
	Destroys  bool          `json:"destroys"`
	Operation string        `json:"operation"`
	Status    string        `json:"status"`
	Source    string        `json:"source"`
	Message   string        `json:"message"`
	Error     string        `json:"error"`
	Hidden    string        `json:"hidden"`
	Omitted   int           `json:"omitted"`
	Needs     []object.Ref  `json:"needs"`
	Changes   diff.Diff     `json:"changes"`
	Causes    []ready.Cause `json:"causes"`
	Problem   string        `json:"problem"`
	Next      string        `json:"next"`
	Conseq    bool          `json:"consequence"`
	Outcome   Outcome       `json:"outcome"`
	Restores  int           `json:"restores"`
}

// Read returns the runs, or the plan, that JSON of a native command describes.
func Read(in io.Reader) ([]*Run, error) {
	buffered := bufio.NewReader(in)
	if head, _ := buffered.Peek(64); isDocument(head) {
		text, err := io.ReadAll(io.LimitReader(buffered, maxLine))
		if err != nil {
			return nil, fmt.Errorf("read the plan: %w", err)
		}
		run, err := ReadPlan(text)
		return []*Run{run}, err
	}
	var r Reader
	lines := bufio.NewScanner(buffered)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if text := bytes.TrimSpace(lines.Bytes()); len(text) > 0 {
			if err := r.Line(text); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the run: %w", err)
	}
	if len(r.runs) == 0 {
		return nil, errors.New("it has no run; 'muster apply -o json=FILE' records one")
	}
	return r.runs, nil
}

// isDocument reports whether JSON is a document of several lines, which a plan is.
func isDocument(head []byte) bool {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(head), []byte("{"))
	return ok && len(bytes.TrimLeft(rest, " \t\r")) > 0 && bytes.TrimLeft(rest, " \t\r")[0] == '\n'
}

// Write collects the lines in a part of the output.
func (r *Reader) Write(text []byte) (int, error) {
	r.rest = append(r.rest, text...)
	for {
		end := bytes.IndexByte(r.rest, '\n')
		if end < 0 {
			return len(text), nil
		}
		if err := r.Line(r.rest[:end]); err != nil {
			return 0, err
		}
		r.rest = r.rest[end+1:]
	}
}

// Runs returns the runs so far.
func (r *Reader) Runs() []*Run { return r.runs }

// Line collects one line. Types that are not known are ignored.
func (r *Reader) Line(text []byte) error {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return fmt.Errorf("it is not JSON of a run: %w", err)
	}
	if l.Type == "" {
		return errors.New("it has no type; muster report reads the output of apply -o json")
	}
	if l.Type == "version" {
		if !strings.HasPrefix(l.UI, majorVersion) {
			return fmt.Errorf("its version %q is unknown; this program reads version %s", l.UI,
				majorVersion+"x")
		}
		r.begin(&Run{Tool: l.Muster, Began: l.Timestamp})
		return nil
	}
	if len(r.runs) == 0 {
		r.begin(&Run{Began: l.Timestamp})
	}
	run := r.runs[len(r.runs)-1]
	run.add(&l)
	return nil
}

// begin adds a run.
func (r *Reader) begin(run *Run) {
	run.byRef = map[object.Ref]*Object{}
	if n := len(r.runs); n > 0 && r.runs[n-1].Recovery != nil {
		r.runs[n-1].Recovery.Run, run.Recovers = run, true
	}
	r.runs = append(r.runs, run)
}

// object returns the object that a line is about, which a recording may not have had before.
func (r *Run) object(ref object.Ref) *Object {
	o := r.byRef[ref]
	if o == nil {
		o = &Object{Ref: ref, State: Pending}
		r.byRef[ref] = o
		r.Objects = append(r.Objects, o)
	}
	return o
}

// add applies one line.
func (r *Run) add(l *line) {
	if l.Type == "recovery" {
		r.Recovery = &Recovery{Restores: l.Restores, Error: l.Error}
		return
	}
	if l.Elapsed == 0 && !l.Timestamp.IsZero() && !r.Began.IsZero() {
		l.Elapsed = l.Timestamp.Sub(r.Began).Seconds() // an older recording, in seconds
	}
	r.Elapsed = max(r.Elapsed, l.Elapsed)
	switch l.Type {
	case "run":
		r.Command, r.Set, r.Namespace, r.Cluster = l.Command, l.Set, l.Namespace, l.Cluster
		r.DryRun, r.Destroys, r.Folder = l.DryRun, l.Destroys, l.Folder
		r.Restores = l.Restores
	case "planned":
		o := r.object(l.Ref)
		o.Operation, o.Source, o.Message = l.Operation, l.Source, l.Message
		o.Needs, o.Changes, o.Omitted, o.Hidden = l.Needs, l.Changes, l.Omitted, l.Hidden
	case "apply", "prune", "delete":
		r.object(l.Ref).act(l)
	case "wait":
		r.object(l.Ref).wait(l)
	case "explanation":
		r.object(l.Ref).Causes = l.Causes
	case "problem":
		r.Problems = append(r.Problems, Problem{Ref: l.Ref, Text: l.Problem, Message: l.Message,
			Source: l.Source, Causes: l.Causes, Next: l.Next, Consequence: l.Conseq})
		if o := r.object(l.Ref); len(l.Causes) > 0 {
			o.Causes = l.Causes
		}
	case "result":
		r.Outcome = l.Outcome
		if l.Error != "" {
			r.Error = l.Error
		}
	case "error":
		r.Error = l.Error
		if r.Outcome == "" {
			r.Outcome = Failed
		}
	}
}

// done are the states after successful writes.
var done = map[string]State{
	"create": Created, "update": Configured, "unchanged": Unchanged, "delete": Deleted,
	"orphan": Orphaned, "keep": Kept, "skip": Skipped, "await-created": Found,
	"await-deleted": Deleted,
}

// act applies the end of a write.
func (o *Object) act(l *line) {
	o.Written = l.Elapsed
	if l.Operation != "" {
		o.Operation = l.Operation
	}
	if l.Source != "" {
		o.Source = l.Source
	}
	if l.Message != "" {
		o.Message = l.Message
	}
	switch l.Status {
	case "Successful":
		o.State = done[o.Operation]
		if o.State == "" {
			o.State = map[string]State{"apply": Configured}[l.Type]
		}
		if o.State == "" {
			o.State = Deleted
		}
	case "Skipped":
		o.State, o.Error = Skipped, l.Error
		if o.Operation == "keep" || o.Operation == "delete" {
			o.State = Kept
		}
	default:
		o.State, o.Error = StateFailed, l.Error
	}
}

// wait applies the begin or the end of a wait.
func (o *Object) wait(l *line) {
	if l.Status == "Pending" {
		return
	}
	o.Settled = l.Elapsed
	if l.Message != "" && l.Status != "Successful" {
		o.Message = l.Message
	}
	if l.Error != "" {
		o.Error = l.Error
	}
	switch l.Status {
	case "Timeout":
		o.State = TimedOut
	case "Failed":
		o.State = StateFailed
	case "Interrupted":
		o.State = Unfinished
	}
}

// ReadPlan returns the plan that the JSON of the command plan describes.
func ReadPlan(text []byte) (*Run, error) {
	var document struct {
		Muster    string
		Set       string
		Namespace string
		Cluster   string
		Folder    string
		Objects   []struct {
			object.Ref
			Action  State
			Source  string
			Reason  string
			Error   string
			Problem string
			Needs   []object.Ref
			Changes diff.Diff
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("it is not the JSON of a plan: %w", err)
	}
	if document.Objects == nil {
		return nil, errors.New("it is not the JSON of a plan: it has no objects")
	}
	run := &Run{
		Tool: document.Muster, Command: "plan", PlanOnly: true, Set: document.Set,
		Namespace: document.Namespace,
		Cluster:   document.Cluster, Folder: document.Folder, byRef: map[object.Ref]*Object{},
	}
	for _, p := range document.Objects {
		o := run.object(p.Ref)
		o.State, o.Operation, o.Source = p.Action, string(p.Action), p.Source
		o.Message, o.Error, o.Needs, o.Changes = p.Reason, p.Error, p.Needs, p.Changes
		if p.Error != "" || p.Problem != "" {
			run.Problems = append(run.Problems, Problem{
				Ref: p.Ref, Text: cmp.Or(p.Problem, "would fail"), Message: cmp.Or(p.Error, p.Reason),
				Source: p.Source,
			})
		}
	}
	return run, nil
}
