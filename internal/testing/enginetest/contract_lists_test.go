package enginetest_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// list lists objects of a kind, "KIND" or "KIND.GROUP", with the labels among the options, in the
// namespace of the session.
func (s *session) list(r request) string {
	gk := schema.ParseGroupKind(r.name)
	var names []string
	if r.verb == "metadata" {
		found, err := s.server.ListMetadata(s.t.Context(), gk, s.namespace, r.options)
		if err != nil {
			return failure(err) + "\n"
		}
		for _, m := range found {
			names = append(names, fmt.Sprintf("%s %v", m.Name, m.Labels))
		}
	} else {
		found, err := s.server.List(s.t.Context(), gk, s.namespace, r.options)
		if err != nil {
			return failure(err) + "\n"
		}
		for _, obj := range found {
			names = append(names, fmt.Sprintf("%s %v", obj.GetName(), obj.GetLabels()))
		}
	}
	return strings.Join(append(names, ""), "\n")
}

// watch starts a watch of objects.
func (s *session) watch(objects []*unstructured.Unstructured) string {
	var refs []object.Ref
	for _, obj := range objects {
		refs = append(refs, object.RefOf(obj))
	}
	s.server.Watch(s.watchContext(), refs, s.collect())
	return ""
}

// query starts a query for objects of a kind, with the label selector of the option labels.
func (s *session) query(r request) string {
	s.server.WatchQuery(s.watchContext(), cluster.Query{
		Kind: schema.ParseGroupKind(r.name), Namespace: s.namespace, Labels: r.options["labels"],
	}, s.collect())
	return ""
}

// watchContext ends the latest watch or query and returns the context of the next one.
func (s *session) watchContext() context.Context {
	if s.endWatch != nil {
		s.endWatch()
	}
	var ctx context.Context
	ctx, s.endWatch = context.WithCancel(s.t.Context())
	return ctx
}

// collect returns a function that keeps the events of a watch or query.
func (s *session) collect() func(cluster.ObjectEvent) {
	events := make(chan cluster.ObjectEvent, 100)
	s.events = events
	return func(e cluster.ObjectEvent) { events <- e }
}

// next waits for the next events of a watch or query, as many as the line says, and prints them
// with those that come in the second after them.
func (s *session) next(r request) string {
	count, err := strconv.Atoi(r.name)
	if err != nil {
		s.t.Fatal(err)
	}
	var out strings.Builder
	for limit := 10 * time.Second; ; count-- {
		if count <= 0 {
			limit = time.Second
		}
		select {
		case e := <-s.events:
			out.WriteString(formatEvent(e))
		case <-time.After(limit):
			return out.String()
		}
	}
}
