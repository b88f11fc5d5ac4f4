// Package managed reads and changes Sets: the objects of muster.dev that name a set of objects
// which the controller keeps in the cluster.
//
// It has as much of their fields as commands need. What a Set means is defined in the module of the
// controller, which the program does not depend on. A cluster without the controller does not know
// the kind: that costs no request, since the kinds of the server are known already.
package managed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/base/suggest"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
)

// Kind is the kind of Sets.
var Kind = schema.GroupVersionKind{Group: "muster.dev", Version: "v1alpha1", Kind: "Set"}

// annotationReconcile asks the controller for a run: any new value does.
const annotationReconcile = "muster.dev/reconcile"

// The grammars: the kinds of the record.
const (
	Package = "package"
	App     = "app"
)

// ModePlan is the mode in which plans wait for an approval.
const ModePlan = "Plan"

// PlanWaiting is the state of a plan that waits for an approval.
const PlanWaiting = "WaitingForApproval"

// reasonHeld is the reason of a Set that is not ready because something new waits for a window.
const reasonHeld = "WaitingForWindow"

// The types of conditions.
const (
	ready       = "Ready"
	stalled     = "Stalled"
	reconciling = "Reconciling"
	sourceReady = "SourceReady"
)

// Set is a Set as the server has it.
type Set struct {
	Namespace  string
	Name       string
	UID        types.UID
	Created    time.Time
	Generation int64
	Requested  string // the value of the annotation that asks for a run
	Deleted    bool   // its objects are being deleted
	Spec       Spec
	Status     Status
}

// Spec is the part of the spec that commands read.
type Spec struct {
	Format string `json:"format"`
	App    struct {
		Name string `json:"name"`
	} `json:"app"`
	Cluster *struct {
		KubeconfigSecretRef struct {
			Name string `json:"name"`
		} `json:"kubeconfigSecretRef"`
	} `json:"cluster"`
	Mode    string `json:"mode"`
	Approve string `json:"approve"`
	Suspend bool   `json:"suspend"`
	// Ignore are the fields that the Set leaves to others.
	Ignore diff.IgnoreRules `json:"ignore"`
}

// Status is the part of the status that commands read.
type Status struct {
	ObservedGeneration int64 `json:"observedGeneration"`
	Revision           struct {
		Attempted string `json:"attempted"`
		Applied   string `json:"applied"`
	} `json:"revision"`
	Plan                   Plan               `json:"plan"`
	Objects                Objects            `json:"objects"`
	Causes                 []Cause            `json:"causes"`
	Drifted                []Drifted          `json:"drifted"`
	LastHandledReconcileAt string             `json:"lastHandledReconcileAt"`
	Conditions             []metav1.Condition `json:"conditions"`
}

// Plan is the last plan of a Set; empty if there was none.
type Plan struct {
	Digest  string `json:"digest"`
	Summary string `json:"summary"`
	State   string `json:"state"`
	Secret  string `json:"secret"` // that holds the plan in full
}

// Objects counts the objects of a Set.
type Objects struct {
	Total   int `json:"total"`
	Ready   int `json:"ready"`
	Failed  int `json:"failed"`
	Drifted int `json:"drifted"`
}

// Cause is why an object of a Set is not ready.
type Cause struct {
	Object  string `json:"object"`           // as object.Ref.String has it
	Source  string `json:"source,omitempty"` // its file and document
	Message string `json:"message"`
}

// Drifted is an object of a Set that others changed.
type Drifted struct {
	Object   string   `json:"object"`
	Kind     string   `json:"kind"` // changed, deleted or added
	Fields   []string `json:"fields,omitempty"`
	Managers []string `json:"managers,omitempty"`
}

// ElsewhereError reports a Set whose objects and record are in another cluster.
type ElsewhereError struct{ Set *Set }

func (e *ElsewhereError) Error() string {
	record := e.Set.Record()
	flag := "--record"
	if record.Format == App {
		flag = "-a"
	}
	secret, title := e.Set.Spec.Cluster.KubeconfigSecretRef.Name, e.Set.Title()
	return fmt.Sprintf("the objects of %s are in another cluster: use its kubeconfig, which Secret "+
		"%s in namespace %s has, and %s %s -n %s instead of %s", title, secret, e.Set.Namespace, flag,
		record.Name, record.Namespace, title)
}

// Elsewhere reports whether the objects of the Set are in another cluster.
func (s *Set) Elsewhere() bool { return s.Spec.Cluster != nil }

// Title returns what messages call a Set of a name, as in set/shop.
func Title(name string) string { return "set/" + name }

// Title returns what messages call the Set.
func (s *Set) Title() string { return Title(s.Name) }

// Observed reports whether the status is about the spec that the Set has now.
func (s *Set) Observed() bool { return s.Status.ObservedGeneration == s.Generation }

// Ready returns the status of the condition Ready, and its message. It is Unknown, without a
// message, as long as the status is about an earlier spec.
func (s *Set) Ready() (status metav1.ConditionStatus, message string) {
	c := s.condition(ready)
	if c == nil || !s.Observed() {
		return metav1.ConditionUnknown, ""
	}
	return c.Status, c.Message
}

// Waits reports whether a plan waits for an approval.
func (s *Set) Waits() bool {
	return s.Spec.Mode == ModePlan && s.Status.Plan.State == PlanWaiting &&
		s.Status.Plan.Digest != "" && s.Spec.Approve != s.Status.Plan.Digest
}

// held reports whether something new waits for a window.
func (s *Set) held() bool {
	c := s.condition(ready)
	return c != nil && c.Reason == reasonHeld
}

func (s *Set) condition(of string) *metav1.Condition {
	i := slices.IndexFunc(s.Status.Conditions, func(c metav1.Condition) bool { return c.Type == of })
	if i < 0 {
		return nil
	}
	return &s.Status.Conditions[i]
}

// NoKindError reports a cluster that has no Sets.
type NoKindError struct{}

func (*NoKindError) Error() string {
	return "the cluster does not know Sets (sets.muster.dev): muster-controller is not installed in it"
}

// NotFoundError reports a Set that does not exist.
type NotFoundError struct {
	Namespace, Name string
	Hint            string // which Set may be meant; empty for none
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("there is no %s in namespace %s%s", Title(e.Name), e.Namespace, e.Hint)
}

// List returns the Sets in a namespace, or in all namespaces if it is empty, by namespace and name.
func List(ctx context.Context, c cluster.Writer, namespace string) ([]Set, error) {
	found, err := c.List(ctx, Kind.GroupKind(), namespace, nil)
	if err != nil {
		return nil, noKind(err)
	}
	all := make([]Set, len(found))
	for i, obj := range found {
		if all[i], err = decode(obj); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b Set) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// Get returns a Set. If it does not exist, the error is a *NotFoundError.
func Get(ctx context.Context, c cluster.Writer, namespace, name string) (*Set, error) {
	if _, err := c.Kind(ctx, Kind.GroupKind()); err != nil {
		return nil, noKind(err)
	}
	ref := object.Ref{Group: Kind.Group, Kind: Kind.Kind, Namespace: namespace, Name: name}
	read, err := c.Read(ctx, []cluster.Target{{Ref: ref}})
	if err != nil {
		return nil, err
	}
	if obj := read.Objects[ref]; obj != nil {
		s, err := decode(obj)
		return &s, err
	}
	hint := similar(ctx, c, namespace, name)
	return nil, &NotFoundError{Namespace: namespace, Name: name, Hint: hint}
}

// similar returns which Sets of the namespace may be meant by a name.
func similar(ctx context.Context, c cluster.Writer, namespace, name string) string {
	all, _ := List(ctx, c, namespace) // without an answer there is no hint
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	return suggest.Hint(name, names, "")
}

// noKind returns a *NoKindError for a kind that the server does not know.
func noKind(err error) error {
	unknown := (*cluster.UnknownKindError)(nil)
	if errors.As(err, &unknown) && unknown.Cause == nil {
		return &NoKindError{}
	}
	return err
}

// decode returns the Set that an object is.
func decode(obj *unstructured.Unstructured) (Set, error) {
	s := Set{
		Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(),
		Created: obj.GetCreationTimestamp().Time, Generation: obj.GetGeneration(),
		Requested: obj.GetAnnotations()[annotationReconcile],
		Deleted:   obj.GetDeletionTimestamp() != nil,
	}
	content := struct {
		Spec   Spec   `json:"spec"`
		Status Status `json:"status"`
	}{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &content)
	if err != nil {
		return s, fmt.Errorf("read %s: %w", object.RefOf(obj), err)
	}
	s.Spec, s.Status = content.Spec, content.Status
	return s, nil
}
