package drift

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// AuditLog holds the successful writes that an audit log of an API server has, by object.
type AuditLog struct {
	writes map[auditKey][]auditWrite // in the order of the log
}

// auditKey names an object as requests do.
type auditKey struct{ group, resource, namespace, name string }

type auditWrite struct {
	Person
	manager     string // of the request; empty if it names none
	subresource string
}

// auditEvent is the part of audit.k8s.io/v1 Event that is read.
type auditEvent struct {
	Kind       string   `json:"kind"`
	APIVersion string   `json:"apiVersion"`
	Stage      string   `json:"stage"`
	RequestURI string   `json:"requestURI"`
	Verb       string   `json:"verb"`
	User       userInfo `json:"user"`
	Acting     userInfo `json:"impersonatedUser"`
	UserAgent  string   `json:"userAgent"`
	ObjectRef  struct {
		Resource    string `json:"resource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		APIGroup    string `json:"apiGroup"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Received time.Time `json:"requestReceivedTimestamp"`
}

type userInfo struct {
	Username string `json:"username"`
}

// ReadAudit reads an audit log: one event of audit.k8s.io in JSON on each line. The error names the
// first line that is none.
func ReadAudit(r io.Reader) (*AuditLog, error) {
	log := &AuditLog{writes: map[auditKey][]auditWrite{}}
	lines, number, events := bufio.NewReader(r), 0, 0
	for {
		line, err := lines.ReadBytes('\n')
		number++
		if text := bytes.TrimSpace(line); len(text) > 0 {
			if err := log.add(text); err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			events++
		}
		switch {
		case errors.Is(err, io.EOF) && events == 0:
			return nil, errors.New("line 1: it is empty, and no audit log")
		case errors.Is(err, io.EOF):
			return log, nil
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
}

func (l *AuditLog) add(line []byte) error {
	var e auditEvent
	err := json.Unmarshal(line, &e)
	if err != nil || e.Kind != "Event" || !strings.HasPrefix(e.APIVersion, "audit.k8s.io/") {
		return errors.New("it is no event of an audit log: expected a JSON object with kind Event and " +
			"apiVersion audit.k8s.io/v1")
	}
	switch e.Verb {
	case "create", "update", "patch", "apply", "delete", "deletecollection":
	default:
		return nil
	}
	if e.Stage != "ResponseComplete" || e.ResponseStatus.Code >= 300 {
		return nil
	}
	query := url.Values{}
	if u, err := url.Parse(e.RequestURI); err == nil {
		query = u.Query()
	}
	if query.Get("dryRun") != "" {
		return nil
	}
	name := e.User.Username
	if e.Acting.Username != "" {
		name = e.Acting.Username + " (by " + name + ")"
	}
	ref := e.ObjectRef
	key := auditKey{ref.APIGroup, ref.Resource, ref.Namespace, ref.Name}
	l.writes[key] = append(l.writes[key], auditWrite{
		Person:  Person{Name: name, Verb: e.Verb, Agent: e.UserAgent, Time: e.Received},
		manager: query.Get("fieldManager"), subresource: ref.Subresource,
	})
	return nil
}

// managerTime is how far the time of a manager, in whole seconds, may be from that of its request.
const managerTime = 2 * time.Second

// Join adds the persons to a drifted object, whose kind the server knows as a resource. A value
// that nobody owns any more gets the last writer after since who is not the set's own manager.
func (l *AuditLog) Join(o *Object, resource schema.GroupResource, since time.Time) {
	writes := l.writes[auditKey{resource.Group, resource.Resource, o.Ref.Namespace, o.Ref.Name}]
	switch o.Kind {
	case Deleted:
		o.Person = last(writes, func(w auditWrite) bool { return strings.HasPrefix(w.Verb, "delete") })
		if o.Person == nil { // one request may delete all objects of a kind
			all := l.writes[auditKey{resource.Group, resource.Resource, o.Ref.Namespace, ""}]
			o.Person = last(all, func(w auditWrite) bool {
				return w.Verb == "deletecollection" && w.Time.After(since)
			})
		}
	case Added:
		o.Person = last(writes, func(w auditWrite) bool { return w.Verb != "delete" })
	}
	own := map[string]bool{}
	for _, f := range o.Fields {
		for _, m := range f.Managers {
			own[m.Name] = own[m.Name] || m.Class == Own
		}
	}
	for i := range o.Fields {
		f := &o.Fields[i]
		if len(f.Managers) == 0 {
			f.Person = last(writes, func(w auditWrite) bool {
				return w.Time.After(since) && !strings.HasPrefix(w.Verb, "delete") &&
					!own[w.manager] && w.subresource != "status" &&
					!strings.HasPrefix(w.Agent, "muster/")
			})
			continue
		}
		f.Person = last(writes, func(w auditWrite) bool { return w.isBy(f.Managers[0]) })
	}
}

// isBy reports whether a request is the last one by which a manager changed the object.
func (w auditWrite) isBy(m Manager) bool {
	agent, _, _ := strings.Cut(w.Agent, "/")
	distance := w.Time.Sub(m.Time).Abs()
	return w.subresource == m.Subresource && distance < managerTime &&
		(w.manager == m.Name || w.manager == "" && agent == m.Name)
}

// last returns who sent the last request of some; nil for none.
func last(writes []auditWrite, of func(auditWrite) bool) *Person {
	var person *Person
	for _, w := range writes {
		if of(w) && (person == nil || !w.Time.Before(person.Time)) {
			p := w.Person
			person = &p
		}
	}
	return person
}
