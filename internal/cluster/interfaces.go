package cluster

import (
	"context"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/openapi"
)

// Writer is an API server, as *Client is: its methods may be called by several goroutines at once.
type Writer interface {
	Reader
	// Write sends one object and returns it as the server stored it.
	Write(context.Context, Write) (*unstructured.Unstructured, error)
	// Delete asks for one deletion; gone means that there is nothing left to wait for.
	Delete(context.Context, Delete) (gone bool, err error)
}

// Reader is an API server of which nothing is changed.
type Reader interface {
	// Read returns the live objects among the targets. An object that is in neither part of the
	// snapshot does not exist; one that may not be read is an error.
	Read(ctx context.Context, targets []Target) (*Snapshot, error)
	// List returns the objects of a kind that carry labels, in one namespace or, if that is empty, in
	// all. ListMetadata returns no more than their metadata, ListSecretMetadata that of the Secrets of
	// a type.
	List(
		ctx context.Context, gk schema.GroupKind, namespace string, with map[string]string,
	) ([]*unstructured.Unstructured, error)
	ListMetadata(
		ctx context.Context, gk schema.GroupKind, namespace string, with map[string]string,
	) ([]metav1.ObjectMeta, error)
	ListSecretMetadata(
		ctx context.Context, secretType, namespace string, with map[string]string,
	) ([]metav1.ObjectMeta, error)
	// Select returns the objects of many kinds.
	Select(context.Context, Selection) ([]*unstructured.Unstructured, error)

	// Watch reports changes of the refs, all of one kind, until the context ends: everything since
	// they were read, or their present state first if they were not. It returns at once; see is
	// called by one goroutine at a time.
	Watch(ctx context.Context, refs []object.Ref, see func(ObjectEvent))
	// WatchQuery reports objects that are not known by name, those that explain others: what there
	// is, then Listed, then changes until the context ends. A list that fails is Listed, too, and
	// once more when it has succeeded, unless it is Over. It returns at once; see is called by one
	// goroutine at a time.
	WatchQuery(ctx context.Context, q Query, see func(ObjectEvent))
	// Log returns the last lines of the log of a pod's container, in its present run or the one
	// before; none if it cannot. StreamLog returns the log itself.
	Log(ctx context.Context, pod object.Ref, container string, previous bool, lines int) []string
	StreamLog(
		ctx context.Context, pod object.Ref, container string, o LogOptions,
	) (io.ReadCloser, error)

	// Kind returns a kind that the server has. ListableKinds returns all whose objects can be listed,
	// and the errors of the groups that the server cannot describe.
	Kind(context.Context, schema.GroupKind) (Kind, error)
	ListableKinds(context.Context) (
		found []ListableKind, broken map[schema.GroupVersion]error, err error)
	// Rediscover reads again which kinds the server has.
	Rediscover(context.Context) error
	// LearnKind makes the kind of a definition known before the server has it. AwaitKind waits for a
	// kind that a definition on the server has established a moment ago.
	LearnKind(ctx context.Context, crd *unstructured.Unstructured) error
	AwaitKind(context.Context, schema.GroupVersionKind) error
	// WhyHidden returns why objects of a kind that is not served may exist; nil if none can.
	WhyHidden(context.Context, schema.GroupKind) error
	// Schemas returns the OpenAPI documents that the server publishes of group versions; those that
	// it does not have are left out, and the error is about those that could not be read.
	Schemas(
		context.Context, []schema.GroupVersion,
	) (map[schema.GroupVersion]*openapi.Document, error)
	// PublishedSchemas returns a text that is another one as soon as the server serves other versions
	// or schemas of the kinds of a group.
	PublishedSchemas(ctx context.Context, group string) (string, error)

	// Allowed reports whether the user has a permission. An empty name means all objects; an empty
	// namespace means all namespaces, or an object that has none.
	Allowed(ctx context.Context, verb, group, resource, subresource, namespace, name string) (
		bool, error)
	// Rules returns the status of a SelfSubjectRulesReview.
	Rules(ctx context.Context, namespace string) (map[string]any, error)
	// User returns the name of the user as the server knows it.
	User(context.Context) (string, error)

	// DelayedBindingClasses returns the storage classes that bind a volume when a pod first uses it.
	DelayedBindingClasses(context.Context) (map[string]bool, error)
	// Host returns the address of the server.
	Host() string
	// Throttled is how often the server has said so far that it is asked too much.
	Throttled() int64
	// ClockAhead returns how far the clock of the server is ahead of that of this machine.
	ClockAhead() time.Duration
}

var _ Writer = (*Client)(nil)
