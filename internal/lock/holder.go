package lock

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/muster-deploy/muster/internal/event"
)

// Holder describes the run that holds a lock.
type Holder struct {
	User    string    `json:"user,omitempty"` // of the operating system
	Host    string    `json:"host,omitempty"`
	PID     int       `json:"pid,omitempty"`
	Run     string    `json:"run,omitempty"`     // random; see NewRun
	Command string    `json:"command,omitempty"` // such as apply
	CI      string    `json:"ci,omitempty"`      // address of the job of a pipeline
	Since   time.Time `json:"since,omitzero"`
	NoYield bool      `json:"noYield,omitempty"` // it does not stop when it is asked to
	Done    int       `json:"done,omitempty"`    // steps that have settled
	Total   int       `json:"total,omitempty"`
}

// String returns who it is: ann@laptop.
func (h Holder) String() string {
	switch {
	case h.User != "" && h.Host != "":
		return h.User + "@" + h.Host
	case h.User+h.Host != "":
		return h.User + h.Host
	default:
		return "another run"
	}
}

// Describe returns who it is and what it does:
// "ann@laptop (apply, since 2m, 37 of 120 done)". Now is compared with the clock of its machine.
func (h Holder) Describe(now time.Time) string {
	var parts []string
	if h.Command != "" {
		parts = append(parts, h.Command)
	}
	if !h.Since.IsZero() {
		parts = append(parts, "since "+duration.HumanDuration(max(0, now.Sub(h.Since))))
	}
	if h.Total > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d done", h.Done, h.Total))
	}
	if h.CI != "" {
		parts = append(parts, h.CI)
	}
	if len(parts) == 0 {
		return h.String()
	}
	return h.String() + " (" + strings.Join(parts, ", ") + ")"
}

// holderOf returns the holder of a Lease. One that others wrote has the identity alone.
func holderOf(lease *unstructured.Unstructured) Holder {
	var h Holder
	err := json.Unmarshal([]byte(lease.GetAnnotations()[annotationHolder]), &h)
	if err != nil || h.identity() != identityOf(lease) {
		who, _, _ := strings.Cut(identityOf(lease), "/")
		return Holder{User: who}
	}
	return h
}

func identityOf(lease *unstructured.Unstructured) string {
	id, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
	return id
}

// progress is how far a run is, for several goroutines.
type progress struct {
	mu          sync.Mutex
	done, total int
}

func (p *progress) get() (done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done, p.total
}

// Count returns a sink that also counts the steps that have settled, of a total number. Those who
// wait for the lock see it after the next renewal. The lock may be nil.
func (l *Lock) Count(total int, sink event.Sink) event.Sink {
	if l == nil {
		return sink
	}
	done := 0
	return func(e event.Event) {
		switch {
		case e.Kind == event.Settled:
			done++
			l.setProgress(done, total)
		case e.Relapsed:
			done--
		}
		sink(e)
	}
}

// setProgress sets how far the run is.
func (l *Lock) setProgress(done, total int) {
	l.progress.mu.Lock()
	defer l.progress.mu.Unlock()
	l.progress.done, l.progress.total = done, total
}

// notInLabels are the characters that the value of a label does not take.
var notInLabels = regexp.MustCompile(`[^-A-Za-z0-9_.]+`)

// labelValue returns a text as the value of a label: what it does not take becomes a dash.
func labelValue(text string) string {
	text = notInLabels.ReplaceAllString(text, "-")
	if len(text) > 63 {
		text = text[:63]
	}
	return strings.Trim(text, "-_.")
}
