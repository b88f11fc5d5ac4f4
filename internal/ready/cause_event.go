package ready

import (
	"cmp"
	"iter"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/object"
)

// warning is a Warning event, or the Normal event that the kubelet kills a container.
type warning struct {
	reason, message string
	time, first     string // when it was reported last and first, in whole seconds
	container       string // empty for an event about the whole object
	count           int    // how often it was reported
	failed          string // what failed, so that a container is killed; empty for a Warning event
}

// The events about an object that are kept, and the repetitions of one that count. Users may write
// more of them than controllers do.
const (
	maxEvents  = 100
	maxReports = 1 << 20
)

// earliest returns the earliest of some events.
func earliest(events map[object.Ref]*Evidence) object.Ref {
	var first *Evidence
	for _, e := range events {
		if first == nil || e.warning.compare(first.warning) < 0 {
			first = e
		}
	}
	return first.Ref
}

// harmless are the reasons of Warning events about pods that keep no pod from being ready, and of
// those that the status of the pod repeats at any rate.
var harmless = map[string]bool{
	"BackOff": true, "CheckLimitsForResolvConf": true, "DNSConfigForming": true,
	"ExceededGracePeriod": true, "FailedKillPod": true, "FailedPreStopHook": true,
	"FailedToRetrieveImagePullSecret": true, "MissingClusterDNS": true, "PolicyViolation": true,
	"ProbeWarning": true,
}

// killReason is the reason of the event that the kubelet kills a container.
const killReason = "Killing"

// killEvents selects such events.
var killEvents = RelatedKind{
	GroupKind: schema.GroupKind{Kind: "Event"}, Fields: "reason=" + killReason,
}

// isProbed reports whether the kubelet may kill containers of a pod, or of the pods of a workload,
// because a probe or hook failed.
func isProbed(obj *unstructured.Unstructured) bool {
	pod := field(obj, "spec", "template", "spec")
	if obj.GroupVersionKind().GroupKind() == podKind {
		pod = field(obj, "spec")
	}
	for _, part := range [...]string{"containers", "initContainers"} {
		for _, container := range maps(member(pod, part)) {
			if member(container, "livenessProbe") != nil || member(container, "startupProbe") != nil ||
				valueAt(container, "lifecycle", "postStart") != nil {
				return true
			}
		}
	}
	return false
}

// killMessage matches the messages of such events that name a probe or hook. The others are about
// pods that are deleted.
var killMessage = regexp.MustCompile(`failed (liveness|startup) probe|^FailedPost(StartHook)$`)

// fieldPath matches the path of a container in the object that an event is about.
var fieldPath = regexp.MustCompile(`\{(.+)\}$`)

// warningOf returns what an event reports, and whether that explains anything.
func warningOf(event *unstructured.Unstructured) (*warning, bool) {
	w := &warning{
		reason:  text(event, "reason"),
		message: oneLine(text(event, "message")),
		time: eventTime(event, text(event, "series", "lastObservedTime"),
			text(event, "lastTimestamp"), text(event, "eventTime")),
		first: eventTime(event, text(event, "firstTimestamp"), text(event, "eventTime"),
			text(event, "lastTimestamp")),
	}
	reports := max(count(event, 0, "series", "count"), count(event, 1, "count"), 0)
	w.count = int(min(reports, maxReports))
	if path := fieldPath.FindStringSubmatch(text(event, "involvedObject", "fieldPath")); path != nil {
		w.container = path[1]
	}
	if w.reason == killReason {
		switch m := killMessage.FindStringSubmatch(w.message); {
		case m == nil:
		case m[2] != "":
			w.failed = postStartHook
		default:
			w.failed = m[1] + " probe" // as in the events that it has failed
		}
	}
	return w, w.failed != "" || text(event, "type") == "Warning"
}

// compare orders events by time.
func (w *warning) compare(other *warning) int {
	return cmp.Or(cmp.Compare(w.time, other.time), cmp.Compare(w.message, other.message))
}

// eventTime returns the first of some times that an event has, or when it was created.
func eventTime(event *unstructured.Unstructured, times ...string) string {
	return inSeconds(cmp.Or(cmp.Or(times...), text(event, "metadata", "creationTimestamp")))
}

// secondsLayout is the layout of such times.
const secondsLayout = "2006-01-02T15:04:05"

// inSeconds returns a time in the API's format without fractions of a second. Such times compare as
// text.
func inSeconds(at string) string {
	return at[:min(len(at), len(secondsLayout))]
}

// warningCauses returns the latest Warning event about an object for each reason, the newest first.
// One that is not a cause yet counts only if there is no other.
func (s *search) warningCauses(r *Evidence) []Cause {
	isPod := r.Ref.GroupKind() == podKind
	latest := map[string]Cause{}
	for w := range s.warnings(r.UID) {
		switch {
		case w.failed != "" || r.current || isPod && harmless[w.reason]:
		case w.isOver(r.running[w.container]):
		case r == s.root && w.time < s.changed || w.time != "" && w.time < r.since(w.container):
		default:
			c := s.warningCause(r, w, isPod)
			if old, ok := latest[w.reason]; !ok || c.outranks(old) {
				latest[w.reason] = c
			}
		}
	}
	causes := make([]Cause, 0, len(latest))
	for _, c := range latest {
		causes = append(causes, c)
	}
	slices.SortFunc(causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.time, a.time), cmp.Compare(a.Message, b.Message))
	})
	return causes
}

// outranks reports whether a cause by an event explains more than one with the same reason.
func (c Cause) outranks(other Cause) bool {
	if c.Idle != other.Idle {
		return other.Idle
	}
	return cmp.Or(cmp.Compare(c.time, other.time), cmp.Compare(c.Message, other.Message)) > 0
}

func (s *search) warningCause(r *Evidence, w *warning, isPod bool) Cause {
	message := w.message
	if isPod {
		message = plain(message)
	}
	found := Cause{Object: r.Ref, Count: 1, Message: oneLine(join(w.reason, message)), time: w.time}
	found.grade(w.reason, message)
	found.Reports = s.reports(r, false)
	if isPod {
		found.similarity = w.reason // the message often has the address of the pod
		if w.reason != evicted {
			found.Delay = max(found.Delay, statusDelay)
		}
	}
	found.begins = s.toleratedUntil(r, w)
	return s.begun(found)
}

// explained returns a cause that a container ended. If the kubelet killed the container, the cause
// is the probe or hook that failed.
func (s *search) explained(c Cause) Cause {
	if c.end == nil {
		return c
	}
	var kill, probe *warning
	for w := range s.warnings(c.end.pod) {
		if w.container == c.end.container && w.failed != "" && (kill == nil || kill.compare(w) < 0) {
			kill = w
		}
	}
	if kill == nil || !c.end.isBy(kill) {
		return c
	}
	for w := range s.warnings(c.end.pod) {
		if w.container == kill.container && strings.HasPrefix(strings.ToLower(w.message), kill.failed) &&
			(probe == nil || probe.compare(w) < 0) {
			probe = w
		}
	}
	c.similarity = c.end.container + " " + kill.failed
	if kill.failed == postStartHook {
		c.Container = "" // its log does not say why the hook failed
	}
	why := ""
	if probe != nil {
		_, why, _ = strings.Cut(probe.message, ": ")
	}
	c.Message = killText(c.end.container, kill.failed, why)
	return c
}

// reports returns the number of Warning events about an object, with their repetitions, or only of
// those about pulls of images: a kubelet makes two for each pull that fails, and others while it
// waits for the next one.
func (s *search) reports(r *Evidence, ofPulls bool) int {
	total := 0
	for w := range s.warnings(r.UID) {
		isPull := w.reason == "Failed" && w.message != "Error: ImagePullBackOff"
		if w.failed == "" && (isPull || !ofPulls) {
			total += w.count
		}
	}
	return total
}

// warnings returns the events about an object.
func (s *search) warnings(about types.UID) iter.Seq[*warning] {
	return func(yield func(*warning) bool) {
		for _, related := range s.related.events[about] {
			if !yield(related.warning) {
				return
			}
		}
	}
}
