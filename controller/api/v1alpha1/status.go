package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types of conditions.
const (
	// ConditionReady is true if what the source had last is applied and ready.
	ConditionReady = "Ready"
	// ConditionReconciling is true while a run is under way, or will be by itself.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is true if nothing will happen without a change of the source or of the Set.
	ConditionStalled = "Stalled"
	// ConditionDrifted is true if objects differ from what was applied, and are left so.
	ConditionDrifted = "Drifted"
	// ConditionSourceReady is true if the manifests could be fetched.
	ConditionSourceReady = "SourceReady"
	// ConditionApproved is false while a plan waits for its approval.
	ConditionApproved = "Approved"
)

// The annotations of a Set.
const (
	// AnnotationReconcile asks for a run: any new value does.
	AnnotationReconcile = "muster.dev/reconcile"
	// LabelShard names the shard of the controller that the Set belongs to.
	LabelShard = "muster.dev/shard"
	// Finalizer keeps a Set until its objects are gone.
	Finalizer = "muster.dev/set"
)

// SetStatus is what a set is.
type SetStatus struct {
	// ObservedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Revision says which revisions of the source were tried.
	// +optional
	Revision RevisionStatus `json:"revision,omitzero"`
	// Plan is what the last plan would change, or has changed.
	// +optional
	Plan *PlanStatus `json:"plan,omitempty"`
	// Objects counts the objects of the set.
	// +optional
	Objects ObjectCounts `json:"objects,omitzero"`
	// Causes are why objects are not ready, ten at most.
	// +optional
	// +listType=atomic
	Causes []Cause `json:"causes,omitempty"`
	// Drifted are objects that others changed, twenty at most.
	// +optional
	// +listType=atomic
	Drifted []DriftedObject `json:"drifted,omitempty"`
	// Record is the object in which the set is recorded.
	// +optional
	Record *RecordReference `json:"record,omitempty"`
	// Deleting is the label or annotation that marks the objects, KEY=VALUE, once a run has begun to
	// delete them.
	// +optional
	Deleting string `json:"deleting,omitempty"`
	// Crashes counts the crashes of the controller in a row that a run of the Set was under way at.
	// +optional
	Crashes CrashStatus `json:"crashes,omitzero"`
	// Failures is the number of runs in a row that failed.
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// LastHandledReconcileAt is the value of the annotation muster.dev/reconcile of the last run.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`
	// Conditions are Ready, Reconciling, Stalled, Drifted, SourceReady and Approved.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// CrashStatus counts crashes of the controller.
type CrashStatus struct {
	// +optional
	Count int32 `json:"count,omitempty"`
	// Generation is that of the spec that was deployed.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// Reconcile is the value of the annotation muster.dev/reconcile then.
	// +optional
	Reconcile string `json:"reconcile,omitempty"`
}

// RevisionStatus says which revisions of the source were tried.
type RevisionStatus struct {
	// Attempted is the one of the last run.
	// +optional
	Attempted string `json:"attempted,omitempty"`
	// Applied is the last one that was applied and became ready.
	// +optional
	Applied string `json:"applied,omitempty"`
	// AppliedAt is when that was.
	// +optional
	AppliedAt *metav1.Time `json:"appliedAt,omitempty"`
	// Generation is that of the spec with which it was applied.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// SpecDigest identifies the fields of the spec that shape what is applied, as they were then.
	// +optional
	SpecDigest string `json:"specDigest,omitempty"`
	// Number is the newest revision in the history.
	// +optional
	Number int32 `json:"number,omitempty"`
}

// PlanStatus is a plan.
type PlanStatus struct {
	// Digest identifies what the plan changes.
	// +optional
	Digest string `json:"digest,omitempty"`
	// Summary says what it changes, as in: 2 to create, 1 to prune.
	Summary string `json:"summary"`
	// State is WaitingForApproval, WaitingForWindow, Applied or Observed.
	State string `json:"state"`
	// Secret holds the plan in full.
	// +optional
	Secret string `json:"secret,omitempty"`
}

// The states of a plan.
const (
	PlanWaiting  = "WaitingForApproval"
	PlanHeld     = "WaitingForWindow"
	PlanApplied  = "Applied"
	PlanObserved = "Observed" // in mode Observe: nothing of it was run
)

// ObjectCounts counts objects.
type ObjectCounts struct {
	// +optional
	Total int32 `json:"total,omitempty"`
	// +optional
	Ready int32 `json:"ready,omitempty"`
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// +optional
	Drifted int32 `json:"drifted,omitempty"`
}

// Cause is why an object is not ready.
type Cause struct {
	// Object is the object, as in: shop/deployment.apps/web.
	Object string `json:"object"`
	// Source is its file and document.
	// +optional
	Source string `json:"source,omitempty"`
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`
}

// DriftedObject is an object that others changed.
type DriftedObject struct {
	Object string `json:"object"`
	// Kind is changed, deleted or added.
	Kind string `json:"kind"`
	// Fields are the fields that differ, ten at most, without values.
	// +optional
	// +listType=atomic
	Fields []string `json:"fields,omitempty"`
	// Managers own the fields.
	// +optional
	// +listType=atomic
	Managers []string `json:"managers,omitempty"`
}

// RecordReference names a record.
type RecordReference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// Set is a set of objects that the controller keeps in the cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=mset,categories=muster
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Objects",type=integer,JSONPath=`.status.objects.total`
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.status.revision.applied`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Set struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec SetSpec `json:"spec"`
	// +optional
	Status SetStatus `json:"status,omitzero"`
}

// SetList is a list of Sets.
//
// +kubebuilder:object:root=true
type SetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Set `json:"items"`
}
