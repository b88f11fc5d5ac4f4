package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
)

// batch is a group of objects of one kind that one list or watch covers, in one version: those of
// one namespace, of several, or of a kind without namespaces.
type batch struct {
	resource      schema.GroupVersionResource
	namespace     string // empty for several namespaces or none
	names         map[name]object.Ref
	managedFields bool  // read managed fields
	listDenied    error // the server's refusal to list the objects
}

// name is the namespace and name of an object.
type name struct{ namespace, name string }

func nameOf(ref object.Ref) name { return name{ref.Namespace, ref.Name} }

func compareNames(a, b name) int {
	return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
}

// readItem is an object to read, in one version.
type readItem struct {
	resource      schema.GroupVersionResource
	ref           object.Ref
	managedFields bool
}

// groupBatches makes one batch for each resource and namespace, or one for a resource in more than
// most namespaces, in the order of the first item of each.
func groupBatches(items []readItem, most int) []*batch {
	type key struct {
		resource  schema.GroupVersionResource
		namespace string
	}
	met, spread := map[key]bool{}, map[schema.GroupVersionResource]int{}
	for _, i := range items {
		if k := (key{i.resource, i.ref.Namespace}); !met[k] {
			met[k] = true
			spread[i.resource]++
		}
	}
	var order []*batch
	found := map[key]*batch{}
	for _, i := range items {
		k := key{i.resource, i.ref.Namespace}
		if spread[i.resource] > most {
			k.namespace = ""
		}
		b := found[k]
		if b == nil {
			b = &batch{resource: i.resource, namespace: k.namespace, names: map[name]object.Ref{}}
			found[k] = b
			order = append(order, b)
		}
		b.names[nameOf(i.ref)] = i.ref
		b.managedFields = b.managedFields || i.managedFields
	}
	return order
}

// divided returns one batch for each namespace of the missing objects.
func (b *batch) divided(missing map[name]object.Ref) []*batch {
	items := make([]readItem, 0, len(missing))
	for _, n := range slices.SortedFunc(maps.Keys(missing), compareNames) {
		items = append(items, readItem{b.resource, missing[n], b.managedFields})
	}
	return groupBatches(items, len(items))
}

// several reports whether the objects are in several namespaces.
func (b *batch) several() bool {
	if b.namespace == "" {
		for n := range b.names {
			return n.namespace != ""
		}
	}
	return false
}

// firstPage returns the size limit of the first page.
func (b *batch) firstPage() int64 { return int64(min(pageSize, shortPage*len(b.names))) }

func (b *batch) String() string {
	if b.namespace == "" {
		return b.resource.GroupResource().String()
	}
	return fmt.Sprintf("%s in namespace %s", b.resource.GroupResource(), b.namespace)
}
