package adopt

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
)

// Set is a set of objects as another tool recorded it. Its JSON is what an interrupted adoption
// needs to be continued: it has no manifests.
type Set struct {
	Tool    Tool   `json:"tool"`
	Program string `json:"program"` // that deploys the set: helm, kubectl
	// Title is what messages call it, as in: Helm release "shop" in namespace shop.
	Title   string `json:"title"`
	Version string `json:"version,omitempty"` // as in: revision 3; empty if the tool counts none

	Owners   []owner.Owner `json:"owners,omitempty"` // whom the marks of the tool name
	Objects  []Object      `json:"objects"`
	Managers []string      `json:"managers"` // field managers of the tool
	// Labels and Annotations are the keys of the marks of the tool, beside those of Owners.
	Labels      []string       `json:"labels,omitempty"`
	Annotations []string       `json:"annotations,omitempty"`
	Record      []RecordChange `json:"record,omitempty"` // what hides the record from the tool

	Hooks []Hook   `json:"-"`
	Notes []string `json:"-"` // what the user has to know, beside what the objects show
}

// Object is an object of a set.
type Object struct {
	Ref      object.Ref                 `json:"ref"`
	Version  string                     `json:"version"` // of its API
	Manifest *unstructured.Unstructured `json:"-"`       // as the tool applies it
	// Labels are the labels that the tool added to the live object and that Manifest lacks.
	Labels []string `json:"labels,omitempty"`
}

// Hook is an object that a tool creates at a moment of its own runs. Sets have nothing like it.
type Hook struct {
	Ref    object.Ref
	When   string // as in: pre-install, pre-upgrade
	Text   string // the manifest
	Source string // file of a chart
}

// RecordChange is the change of one object of a record that lets its tool find nothing any more.
// Undo restores it.
type RecordChange struct {
	Ref     object.Ref      `json:"ref"`
	Version string          `json:"version"` // of its API
	UID     types.UID       `json:"uid"`
	Patch   json.RawMessage `json:"patch"` // a merge patch
	Undo    json.RawMessage `json:"undo"`  // a merge patch
	// Obsolete means that nobody needs the object once the adoption is final.
	Obsolete bool `json:"obsolete,omitempty"`
}

// Request names a set of another tool.
type Request struct {
	Tool Tool `json:"tool"`
	// Name is KIND/NAME where a tool has several kinds, and a label selector for a Selector.
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// DropLabels makes the labels of a Selector marks of the set, which an adoption removes.
	DropLabels bool `json:"dropLabels,omitempty"`
}

// readers are the functions that read a set, by tool.
var readers = map[Tool]func(context.Context, cluster.Reader, Request) (*Set, error){
	Helm: readRelease, ApplySet: readApplySet, Selector: readSelector, Flux: readFlux,
	ArgoCD: readApplication,
}

// Tools returns the tools whose sets Read reads, sorted.
func Tools() []string {
	var tools []string
	for tool := range readers {
		tools = append(tools, string(tool))
	}
	slices.Sort(tools)
	return tools
}

// Read returns a set as its tool recorded it. It changes nothing. A set that its tool is changing
// now, or would change back, is an error.
func Read(ctx context.Context, c cluster.Reader, r Request) (*Set, error) {
	read, ok := readers[r.Tool]
	if !ok {
		return nil, fmt.Errorf("sets of %q cannot be read", r.Tool)
	}
	set, err := read(ctx, c, r)
	if err != nil {
		return nil, err
	}
	return set, set.check()
}

// check returns an error for a set without objects, or with one object twice.
func (s *Set) check() error {
	if len(s.Objects) == 0 {
		return &EmptyError{s.Title}
	}
	seen := object.NewSet()
	for _, obj := range s.Objects {
		if !seen.Insert(obj.Ref) {
			return fmt.Errorf("%s has %s twice", s.Title, obj.Ref)
		}
	}
	slices.SortFunc(s.Objects, func(a, b Object) int { return object.Compare(a.Ref, b.Ref) })
	return nil
}

// NotFoundError reports a set that does not exist.
type NotFoundError struct{ Title, Hint string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("there is no %s; %s", e.Title, e.Hint)
}

// EmptyError reports a set without objects.
type EmptyError struct{ Title string }

func (e *EmptyError) Error() string {
	return e.Title + " has no objects: there is nothing to adopt"
}

// BusyError reports a set whose tool is changing it, or would change it back.
type BusyError struct{ Title, Reason, Hint string }

func (e *BusyError) Error() string { return fmt.Sprintf("%s %s: %s", e.Title, e.Reason, e.Hint) }
