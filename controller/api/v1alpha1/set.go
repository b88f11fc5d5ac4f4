// Package v1alpha1 holds the kind Set of the API group muster.dev: a set of objects that the
// controller keeps in the cluster.
//
// +kubebuilder:object:generate=true
// +groupName=muster.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Mode is what the controller does with a set.
//
// +kubebuilder:validation:Enum=Apply;Plan;Observe
type Mode string

// The modes.
const (
	ModeApply   Mode = "Apply"   // what the source has is applied
	ModePlan    Mode = "Plan"    // what would change waits for an approval
	ModeObserve Mode = "Observe" // nothing is written
)

// DriftPolicy is what the controller does about objects that others changed.
//
// +kubebuilder:validation:Enum=Correct;Report;Ignore
type DriftPolicy string

// The policies. With Ignore the objects are not watched.
const (
	DriftCorrect DriftPolicy = "Correct"
	DriftReport  DriftPolicy = "Report"
	DriftIgnore  DriftPolicy = "Ignore"
)

// DeletionPolicy is what happens with the objects when the Set is deleted.
//
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

// The policies.
const (
	DeletionDelete DeletionPolicy = "Delete"
	DeletionOrphan DeletionPolicy = "Orphan" // they stay, and the record with them
)

// Format is the format of the record.
//
// +kubebuilder:validation:Enum=package;app
type Format string

// The formats.
const (
	FormatPackage Format = "package" // a ResourceGroup, as kpt has it
	FormatApp     Format = "app"     // a ConfigMap, as kapp has it
)

// SetSpec is what a set should be.
//
// +kubebuilder:validation:XValidation:rule="self.format == oldSelf.format",message="the format cannot be changed; muster convert makes a set of the other kind"
// +kubebuilder:validation:XValidation:rule="has(self.app) == has(oldSelf.app) && (!has(self.app) || self.app.name == oldSelf.app.name)",message="the name of the app cannot be changed; it names the record"
// +kubebuilder:validation:XValidation:rule="has(self.cluster) == has(oldSelf.cluster)",message="a Set cannot move to another cluster; delete it with deletion: Orphan, and create another one"
// +kubebuilder:validation:XValidation:rule="!has(self.app) || self.format == 'app'",message="app needs format: app"
// +kubebuilder:validation:XValidation:rule="!has(self.approve) || size(self.approve) == 0 || self.mode == 'Plan'",message="approve needs mode: Plan"
type SetSpec struct {
	// Source is where the manifests come from.
	Source Source `json:"source"`
	// Format is the format of the record: package or app.
	// +kubebuilder:default=package
	Format Format `json:"format,omitempty"`
	// App names the record of an app. Default: the name of the Set.
	// +optional
	App *AppSpec `json:"app,omitempty"`
	// DefaultNamespace is that of objects that name none. Default: the namespace of the Set.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	DefaultNamespace string `json:"defaultNamespace,omitempty"`
	// ServiceAccountName is the service account, of the namespace of the Set, as which everything is
	// read and written. Default: that of the controller's flag --default-service-account; in another
	// cluster, the user of the kubeconfig.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// Cluster is another cluster, in which the objects and their record are. Default: that of the
	// controller.
	// +optional
	Cluster *ClusterSpec `json:"cluster,omitempty"`
	// Mode is Apply, Plan or Observe.
	// +kubebuilder:default=Apply
	Mode Mode `json:"mode,omitempty"`
	// Approve is the digest of the plan that may run, as the status has it. For mode Plan.
	// +optional
	// +kubebuilder:validation:Pattern=`^(sha256:[0-9a-f]{64})?$`
	Approve string `json:"approve,omitempty"`
	// Drift is what happens about objects that others changed: Correct, Report or Ignore.
	// +kubebuilder:default=Correct
	Drift DriftPolicy `json:"drift,omitempty"`
	// Ignore are fields that the set leaves to others once their object exists: they are no drift, and
	// an update keeps their values. A creation sends them as the source has them.
	// +optional
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	Ignore []IgnoreRule `json:"ignore,omitempty"`
	// Prune says what may be deleted of what left the source.
	// +optional
	Prune PruneSpec `json:"prune,omitzero"`
	// Deletion is what happens with the objects when the Set is deleted: Delete or Orphan.
	// +kubebuilder:default=Delete
	Deletion DeletionPolicy `json:"deletion,omitempty"`
	// Conflicts is what happens with fields that others own and to which the source gives another
	// value. Default: they are overwritten.
	// +optional
	// +kubebuilder:validation:Enum="";fail;take-from-humans;yield-to-controllers;take-all
	Conflicts string `json:"conflicts,omitempty"`
	// ServerSide writes by server-side apply.
	// +optional
	ServerSide bool `json:"serverSide,omitempty"`
	// Recreate are kinds, as KIND or KIND.GROUP, whose objects may be deleted and created again where
	// fields cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	// +listType=set
	Recreate []string `json:"recreate,omitempty"`
	// Wait says how long objects are waited for, and when they are ready.
	// +optional
	Wait WaitSpec `json:"wait,omitzero"`
	// DependsOn are Sets of the same namespace that have to be ready first.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	// +listType=map
	// +listMapKey=name
	DependsOn []Dependency `json:"dependsOn,omitempty"`
	// Windows are the times in which new revisions and changes of the Set are applied. Default:
	// always. What others changed is put back at any time, unless something new waits.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	Windows []Window `json:"windows,omitempty"`
	// Interval is the time between two full comparisons with the cluster, beside the watches. 0 is
	// never.
	// +kubebuilder:default="1h"
	Interval *metav1.Duration `json:"interval,omitempty"`
	// Retry says when a run that failed is repeated.
	// +optional
	Retry RetrySpec `json:"retry,omitzero"`
	// Suspend lets the controller do nothing, so that others may change the set.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// Pin is a revision of the history that is deployed, whatever the source has. Default: none.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Pin int32 `json:"pin,omitempty"`
	// History says what is kept of earlier revisions.
	// +optional
	History HistorySpec `json:"history,omitzero"`
}

// ClusterSpec names another cluster.
type ClusterSpec struct {
	// KubeconfigSecretRef names a Secret, of the namespace of the Set, with a kubeconfig. It holds a
	// token or a client certificate, no plugins and no paths of files.
	KubeconfigSecretRef KubeconfigReference `json:"kubeconfigSecretRef"`
}

// KubeconfigReference names a key of a Secret.
type KubeconfigReference struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key is that of the Secret. Default: value, else kubeconfig.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// AppSpec names the record of an app.
type AppSpec struct {
	// Name is the name of the app.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	Name string `json:"name"`
}

// Source is where manifests come from. Exactly one of its fields is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.oci), has(self.configMaps), has(self.secrets), has(self.artifact), has(self.inline)].filter(x, x).size() == 1",message="exactly one of oci, configMaps, secrets, artifact and inline must be set"
type Source struct {
	// OCI is an artifact in a registry.
	// +optional
	OCI *OCISource `json:"oci,omitempty"`
	// ConfigMaps are those, of the namespace of the Set, whose keys are files, in this order.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	ConfigMaps []LocalReference `json:"configMaps,omitempty"`
	// Secrets are those, of the namespace of the Set, whose keys are files, in this order.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Secrets []LocalReference `json:"secrets,omitempty"`
	// Artifact is an object of the namespace of the Set that has an archive in .status.artifact, as a
	// GitRepository of Flux.
	// +optional
	Artifact *ArtifactSource `json:"artifact,omitempty"`
	// Inline is YAML.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Inline *string `json:"inline,omitempty"`
	// Path is the folder in the artifact, in the archive or among the keys. Default: all.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(p, p == '..')",message="path must be relative, without .."
	Path string `json:"path,omitempty"`
}

// LocalReference names an object of the same namespace.
type LocalReference struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// OCISource is an artifact in a registry.
type OCISource struct {
	// URL names the repository: oci://REGISTRY/REPOSITORY.
	// +kubebuilder:validation:Pattern=`^oci://[^/@:]+(:[0-9]+)?/[^@:]+$`
	// +kubebuilder:validation:MaxLength=512
	URL string `json:"url"`
	// Ref names the artifact. Default: the tag latest.
	// +optional
	Ref OCIRef `json:"ref,omitzero"`
	// Poll is the time between two looks at the tag, or at the tags.
	// +kubebuilder:default="1m"
	Poll *metav1.Duration `json:"poll,omitempty"`
	// SecretRef names a Secret of type kubernetes.io/dockerconfigjson.
	// +optional
	SecretRef *LocalReference `json:"secretRef,omitempty"`
	// Verify deploys only artifacts that are signed.
	// +optional
	Verify *Verification `json:"verify,omitempty"`
	// Insecure allows plain HTTP.
	// +optional
	Insecure bool `json:"insecure,omitempty"`
}

// Verification is whose signature an artifact has to have.
type Verification struct {
	// Provider is the program whose signatures these are.
	// +kubebuilder:validation:Enum=cosign
	// +kubebuilder:default=cosign
	Provider string `json:"provider,omitempty"`
	// Keys are public keys. A signature by one of them is enough.
	Keys PublicKeys `json:"keys"`
}

// PublicKeys says where public keys are.
type PublicKeys struct {
	// SecretRef names a Secret with public keys in PEM format, under keys that end in .pub.
	SecretRef LocalReference `json:"secretRef"`
}

// OCIRef names an artifact of a repository.
//
// +kubebuilder:validation:XValidation:rule="[has(self.tag), has(self.semver), has(self.digest)].filter(x, x).size() <= 1",message="tag, semver and digest exclude each other"
type OCIRef struct {
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Tag string `json:"tag,omitempty"`
	// Semver is a range of versions, as in: >=1.2.0 <2.0.0. The highest one among the tags is
	// deployed; pre-releases count only if the range names one.
	// +optional
	// +kubebuilder:validation:Pattern=`[0-9]`
	// +kubebuilder:validation:MaxLength=256
	Semver string `json:"semver,omitempty"`
	// +optional
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	Digest string `json:"digest,omitempty"`
}

// ArtifactSource names an object with .status.artifact.
type ArtifactSource struct {
	// +kubebuilder:validation:MinLength=1
	APIVersion string `json:"apiVersion"`
	// +kubebuilder:validation:MinLength=1
	Kind string `json:"kind"`
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// IgnoreRule names fields that the set leaves to others.
type IgnoreRule struct {
	// Paths are JSON pointers, with what is below them: /spec/replicas, or with ~1 for the slash in a
	// key /metadata/annotations/example.com~1note. An item of a list is named by one of its fields:
	// /spec/template/spec/containers/[name=web]/image.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	Paths []FieldPath `json:"paths"`
	// Managers are field managers, in which * stands for any text: a field is left only if one of
	// them owns it. Default: whoever owns it, or nobody.
	// +optional
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	// +listType=atomic
	Managers []string `json:"managers,omitempty"`
	// Target selects the objects. Default: all.
	// +optional
	Target IgnoreTarget `json:"target,omitzero"`
}

// FieldPath is the path of a field of an object.
//
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:Pattern=`^(/(\[([^]=~/]|~[01])+=([^]~/]|~[01])+\]|([^[~/]|~[01])([^~/]|~[01])*))+$`
// +kubebuilder:validation:XValidation:rule="!self.matches('/([0-9]+|-)(/|$)')",message="an item of a list has no index here, since others may add items: name it by a field, as in /spec/template/spec/containers/[name=web]/image"
// +kubebuilder:validation:XValidation:rule="!self.matches('^/(apiVersion|kind)(/|$)')",message="apiVersion and kind identify the object"
// +kubebuilder:validation:XValidation:rule="!self.matches('^/stringData(/|$)')",message="the cluster keeps the stringData of a Secret in data: use /data"
// +kubebuilder:validation:XValidation:rule="!self.matches('^/metadata(/|$)') || self.matches('^/metadata/((labels|annotations)/.|(finalizers|ownerReferences)(/|$))')",message="of the metadata only single labels and annotations, finalizers and ownerReferences can be left to others"
// +kubebuilder:validation:XValidation:rule="!self.matches('^/metadata/(labels/(kapp[.]k14s[.]io~1(app|association)|applyset[.]kubernetes[.]io~1part-of)|annotations/(config[.]k8s[.]io~1owning-inventory|kapp[.]k14s[.]io~1(identity|original.*)|kubectl[.]kubernetes[.]io~1last-applied-configuration))(/|$)')",message="the path is that of a mark of the set, or of the record of what was applied"
type FieldPath string

// IgnoreTarget selects objects. In each field * stands for any text, and an empty one selects all.
type IgnoreTarget struct {
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// PruneSpec says what may be deleted.
type PruneSpec struct {
	// Disabled lets objects that left the source stay, in the cluster and in the record.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
	// Max is the largest number of objects that a run may prune, or a percentage of those of the set,
	// as in: 10%. Default: no limit.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9]+%?)?$`
	Max string `json:"max,omitempty"`
	// AllowDelete are kinds of objects that hold other objects or data, which are deleted
	// nevertheless: Namespace, CustomResourceDefinition, PersistentVolumeClaim, PersistentVolume.
	// +optional
	// +kubebuilder:validation:MaxItems=20
	// +listType=set
	AllowDelete []string `json:"allowDelete,omitempty"`
	// AllowEmpty lets a source without objects prune everything.
	// +optional
	AllowEmpty bool `json:"allowEmpty,omitempty"`
}

// WaitSpec says how long objects are waited for, and when they are ready.
type WaitSpec struct {
	// Timeout is the time for an object to become ready, or to be gone. 0 is without limit.
	// +kubebuilder:default="10m"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// Rules are readiness rules, which come before those in the source.
	// +optional
	Rules *RulesSpec `json:"rules,omitempty"`
}

// RulesSpec names readiness rules.
type RulesSpec struct {
	// ConfigMapRef names a ConfigMap of the namespace of the Set.
	ConfigMapRef RulesReference `json:"configMapRef"`
}

// RulesReference names a key of a ConfigMap.
type RulesReference struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// +kubebuilder:default=ready-rules.yaml
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// Dependency is a Set that has to be ready first.
type Dependency struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Expr is a CEL expression of dep and self, the two Sets, that has to be true, too.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Expr string `json:"expr,omitempty"`
}

// Window is a time in which changes are applied. It opens again and again.
//
// +kubebuilder:validation:XValidation:rule="duration(self.duration) >= duration('1m')",message="a window is open for a minute at least"
type Window struct {
	// Cron says when the window opens: minute, hour, day of the month, month and day of the week.
	// +kubebuilder:validation:Pattern=`^[0-9A-Za-z*?,/-]+( +[0-9A-Za-z*?,/-]+){4}$`
	// +kubebuilder:validation:MaxLength=256
	Cron string `json:"cron"`
	// Duration is how long it is open, as in: 2h30m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(h|m|s))+$`
	// +kubebuilder:validation:MaxLength=32
	Duration metav1.Duration `json:"duration"`
	// TimeZone is that of the cron expression, as in: Europe/London. Default: UTC.
	// +optional
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
}

// RetrySpec says when a run that failed is repeated: after First, then after twice the time before,
// up to Max.
type RetrySpec struct {
	// +kubebuilder:default="5s"
	First *metav1.Duration `json:"first,omitempty"`
	// +kubebuilder:default="10m"
	Max *metav1.Duration `json:"max,omitempty"`
}

// HistorySpec says what is kept of earlier revisions.
type HistorySpec struct {
	// Keep is the number of revisions. 0 keeps none.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Keep *int32 `json:"keep,omitempty"`
}
