package owner

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Lister lists objects of a cluster that carry labels, in a namespace or in all.
type Lister interface {
	List(
		ctx context.Context, kind schema.GroupKind, namespace string, labels map[string]string,
	) ([]*unstructured.Unstructured, error)
}

// The kinds of the records of packages and apps.
var (
	resourceGroupKind = schema.GroupKind{Group: "kpt.dev", Kind: "ResourceGroup"}
	configMapKind     = schema.GroupKind{Kind: "ConfigMap"}
)

// Names finds the names of packages and apps by the IDs on their objects. It lists the records of a
// kind once, when the first ID of the kind is looked up. One goroutine may use it at a time.
type Names struct {
	Cluster Lister

	records map[recordID]Owner
	listed  map[recordPlace]bool // whether the list succeeded
}

// recordID is the ID of a package or an app.
type recordID struct {
	kind Kind
	id   string
}

// recordPlace is where records are listed: in a namespace, or in all if it is empty.
type recordPlace struct {
	kind      Kind
	namespace string
}

// Find returns the owner with the name and the namespace of its record. Records are looked for in
// the whole cluster, or in some namespaces if the user may not list all. Without a record the name
// stays empty.
func (n *Names) Find(ctx context.Context, o Owner, namespaces ...string) Owner {
	if o.Name != "" || o.Kind != Package && o.Kind != App {
		return o
	}
	if !n.list(ctx, recordPlace{o.Kind, ""}) {
		for _, namespace := range namespaces {
			if namespace != "" {
				n.list(ctx, recordPlace{o.Kind, namespace}) // else the ID stays without a name
			}
		}
	}
	record := n.records[recordID{o.Kind, o.ID}]
	o.Name, o.Namespace = record.Name, record.Namespace
	return o
}

// FindAll returns owners with the names of their records.
func (n *Names) FindAll(ctx context.Context, owners []Owner, namespaces ...string) []Owner {
	found := slices.Clone(owners)
	for i := range found {
		found[i] = n.Find(ctx, found[i], namespaces...)
	}
	return found
}

// list finds the records of packages or apps in a place, once, and reports whether it could.
func (n *Names) list(ctx context.Context, place recordPlace) bool {
	if succeeded, done := n.listed[place]; done {
		return succeeded
	}
	if n.listed == nil {
		n.listed, n.records = map[recordPlace]bool{}, map[recordID]Owner{}
	}
	kind, gk, labels := place.kind, resourceGroupKind, map[string]string(nil)
	if kind == App {
		gk, labels = configMapKind, map[string]string{appRecordLabel: ""}
	}
	objects, err := n.Cluster.List(ctx, gk, place.namespace, labels)
	n.listed[place] = err == nil
	for _, obj := range objects {
		id, name := obj.GetLabels()[inventoryLabel], obj.GetName()
		if kind == App {
			id, name = appID(obj), strings.TrimSuffix(name, appRecordSuffix)
		}
		if id != "" {
			n.records[recordID{kind, id}] = Owner{
				Kind: kind, ID: id, Name: name, Namespace: obj.GetNamespace(),
			}
		}
	}
	return n.listed[place]
}

// appID returns the value of the label of an app, by its record; empty if the record is invalid.
func appID(obj *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(obj.Object, "data", "spec")
	var spec struct {
		LabelKey   string `json:"labelKey"`
		LabelValue string `json:"labelValue"`
	}
	if json.Unmarshal([]byte(text), &spec) != nil || spec.LabelKey != appLabel {
		return ""
	}
	return spec.LabelValue
}

// Text returns owners for messages: the first one, with the others that deploy the object too.
func Text(owners []Owner) string {
	var texts []string
	for _, o := range owners {
		texts = append(texts, o.String())
	}
	return strings.Join(texts, " and ")
}
