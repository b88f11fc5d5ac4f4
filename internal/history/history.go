// Package history stores the revisions of sets: the desired objects of a run, and a description of
// the run.
//
// A revision is stored in Secrets of the type muster.dev/revision in the namespace of the record.
// The head, NAME-rev-7, has the description as JSON in an annotation, so that a list of metadata
// shows all revisions. Its data holds the objects as sorted JSON lines and an index of them, both
// compressed. What exceeds the size of a Secret is in parts, NAME-rev-7-2 and so on. Parts are
// written first and the head last, with a digest of each: a part that no head names is no revision,
// and the next write deletes it.
//
// The data of Secrets is stored in their own namespaces, so that nobody can read it who could not
// read the Secrets, or only as a digest.
//
// Whoever may create Secrets in the namespace of a record can write a head. So no Secret is deleted
// or read because a head names it: it must have the type, the labels of the set and the revision,
// and, in another namespace, a name that is made from the set. A deletion carries its UID.
//
// Writes are not fenced: the caller holds the lock of the set. This package decides nothing about
// when a revision is written, and prints nothing.
package history

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// Set identifies the set that a history belongs to. Another set may have its name.
type Set struct {
	Namespace string // of the record, and of the revisions
	Name      string // of the set: revisions are named after it
	Record    string // names the record; no other set of the namespace has it at the same time
	ID        string // identifies the set: the ID of an inventory, or the label of an app
}

// DefaultLimit is how many revisions are kept unless the user says otherwise.
const DefaultLimit = 10

// Store reads and writes the revisions of a set. It may be used by one goroutine at a time.
type Store struct {
	Cluster cluster.Writer
	Set     Set
	Manager string     // field manager
	Limit   int        // of the number of revisions; see Prune
	Secrets DataPolicy // of the data of Secrets; empty is OwnNamespace
	Keep    int        // the number of a revision that Prune keeps, as if it was pinned; 0 is none
	// Exists reports whether a record in the namespace has an ID, of a set that was renamed. Nil is
	// never.
	Exists func(ctx context.Context, id string) (bool, error)
	// BeforeDelete is called by DeleteAll before it deletes, if there is anything to delete. Its error
	// keeps all. Nil is called never.
	BeforeDelete func(ctx context.Context) error

	nameTaken bool     // another set of the name has revisions in the namespace
	listed    *listing // that the next Write begins with; nil for a new one
}

// DataPolicy says what a revision holds of the data of Secrets. Their other fields are always
// stored.
type DataPolicy string

// The policies.
const (
	// OwnNamespace stores the data in the namespace of the Secret, or a digest where that is
	// forbidden.
	OwnNamespace DataPolicy = "own"
	OnlyDigest   DataPolicy = "digest" // a digest shows whether the data has changed
	NoData       DataPolicy = "none"
)

// Outcome is the result of the run that a revision describes.
type Outcome string

// The outcomes.
const (
	Succeeded   Outcome = "ok"
	Failed      Outcome = "failed"
	Interrupted Outcome = "interrupted"
	// Applied is that of a run that has not waited until the objects were ready.
	Applied Outcome = "applied"
)

// Meta describes a revision and the run that wrote it. All but Number and Time may be unknown.
type Meta struct {
	Number int    `json:"number"`
	Record string `json:"record,omitempty"` // Set.Record
	// Parent is the revision that this one follows, or that it restores. 0 is none.
	Parent   int       `json:"parent,omitempty"`
	Restores int       `json:"restores,omitempty"` // the revision that this one restores; 0 is none
	Time     time.Time `json:"time"`               // of the end of the run
	Duration float64   `json:"durationSeconds,omitempty"`
	Outcome  Outcome   `json:"outcome,omitempty"`
	Failures []string  `json:"failures,omitempty"` // the first ones: object and reason
	Changes  []Change  `json:"changes,omitempty"`

	User    string `json:"user,omitempty"`  // as the API server knows it
	Login   string `json:"login,omitempty"` // of the operating system
	Host    string `json:"host,omitempty"`
	Tool    string `json:"tool,omitempty"` // version of the program
	Command string `json:"command,omitempty"`
	Message string `json:"message,omitempty"`
	Git     *Git   `json:"git,omitempty"`
	// Artifact is the OCI artifact that the objects come from, with its digest; several have spaces
	// between them.
	Artifact string `json:"artifact,omitempty"`
	CI       string `json:"ci,omitempty"` // address of the job of a pipeline

	Objects int    `json:"objects"` // number
	Content string `json:"content"` // digest of all objects
	Parts   []Part `json:"parts"`   // the first one is the head

	// Unstored is the number of values of the objects that the server did not store; see
	// Object.Unstored.
	Unstored int `json:"unstored,omitempty"`
	// Completed is the number of Jobs that were seen to succeed, without those that a run has started
	// since; see Object.Completed.
	Completed int `json:"completed,omitempty"`

	// Partial is why the run did not make the cluster the same as the objects; empty if it meant to.
	// Such a revision is never the last good one.
	Partial string `json:"partial,omitempty"`
}

// Change counts the objects of a kind that a run changed in one way.
type Change struct {
	Op    string `json:"op"` // created, configured, pruned
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// Git describes the repository that the objects come from.
type Git struct {
	Commit string `json:"commit,omitempty"`
	Branch string `json:"branch,omitempty"`
	Dirty  bool   `json:"dirty,omitempty"` // files of the set differ from the commit
	Remote string `json:"remote,omitempty"`
}

// Part is one Secret of a revision.
type Part struct {
	Namespace string `json:"namespace,omitempty"` // empty is that of the record
	Name      string `json:"name"`
	SHA256    string `json:"sha256"` // of its data
}

// Head is a revision without its objects.
type Head struct {
	Meta
	Pinned bool  // Prune keeps it
	Err    error // why the description cannot be read; then only Number is known

	name    string       // of the Secret
	uid     types.UID    // of the Secret
	label   string       // of the set
	started []object.Ref // Jobs that a run has started since
}

// Object is one desired object of a revision.
type Object struct {
	*unstructured.Unstructured
	Source string // file and document
	Digest string // of the object as it was desired
	// Unstored are the paths of values that the server did not store, as diff.Unstored returns them.
	Unstored []string
	// Completed is when a Job with this content has succeeded; zero if no run has seen that, or one
	// has started the Job since.
	Completed time.Time
	// Withheld is why the data of a Secret is not here; nil if the object is complete.
	Withheld error

	data       string   // digest of the data of a Secret; empty if it is not known
	keys       []string // of the data of a Secret that is withheld; nil if they are not known
	stringKeys []string // of the data, those that were in stringData
}

// Revision is a description with the objects, by kind, namespace and name.
type Revision struct {
	Meta
	Details
	Objects []Object
}

// Details are what a revision says about its run beyond the description. Lists do not read them.
type Details struct {
	// Rules are the readiness rules that users wrote, those that count first.
	Rules []File `json:"rules,omitempty"`
	// Settings are what shaped the plan, in a form of the caller.
	Settings json.RawMessage `json:"settings,omitempty"`
	// Adopted are the objects that the run took over from others, or that had no owner.
	Adopted []object.Ref `json:"adopted,omitempty"`
	// Evidence is what was seen of objects that failed.
	Evidence []Evidence `json:"evidence,omitempty"`
}

// File is a text with its name.
type File struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Evidence is what was seen of an object that failed.
type Evidence struct {
	Object object.Ref `json:"object"`
	State  string     `json:"state,omitempty"` // the last one, as in: Deployment has 0 of 2 pods
	Error  string     `json:"error,omitempty"` // of the write
	Causes []Cause    `json:"causes,omitempty"`
}

// Cause is why an object was not ready.
type Cause struct {
	Object    object.Ref `json:"object"` // as a pod
	Count     int        `json:"count,omitempty"`
	Message   string     `json:"message"`
	Container string     `json:"container,omitempty"`
	Log       []string   `json:"log,omitempty"` // the last lines
}

// NotFoundError reports a revision that does not exist; without a number, that there is none.
type NotFoundError struct {
	Set    Set
	Number int
}

func (e *NotFoundError) Error() string {
	if e.Number == 0 {
		return fmt.Sprintf("there are no revisions of %q in namespace %s", e.Set.Name, e.Set.Namespace)
	}
	return fmt.Sprintf("there is no revision %d of %q in namespace %s", e.Number, e.Set.Name,
		e.Set.Namespace)
}

// PartError reports a part of a revision that is missing or altered.
type PartError struct {
	Number int
	Part   object.Ref
	Reason string // as in: it is missing
}

func (e *PartError) Error() string {
	return fmt.Sprintf("revision %d cannot be read: of its part %s, %s", e.Number, e.Part, e.Reason)
}
