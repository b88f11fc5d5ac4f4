package cluster

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestSimilar checks what a misspelled kind, or one that has moved to another group, may mean.
func TestSimilar(t *testing.T) {
	table := &kindTable{known: map[schema.GroupKind]Kind{}}
	for _, gvk := range []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "Deployment"}, {Version: "v1", Kind: "Event"},
		{Group: "events.k8s.io", Version: "v1", Kind: "Event"}, {Version: "v1", Kind: "Node"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}, {Version: "v1", Kind: "Secret"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "IngressClass"},
	} {
		table.known[gvk.GroupKind()] = Kind{
			Resource: schema.GroupVersionResource{Version: gvk.Version}}
	}
	for gk, want := range map[schema.GroupKind]string{
		{Group: "apps", Kind: "Deploymnet"}:    "[apps/v1, Kind=Deployment]",
		{Group: "apps", Kind: "deployment"}:    "[apps/v1, Kind=Deployment]",
		{Kind: "Deployment"}:                   "[apps/v1, Kind=Deployment]",
		{Group: "extensions", Kind: "Ingress"}: "[networking.k8s.io/v1, Kind=Ingress]",
		{Group: "example.com", Kind: "Event"}:  "[/v1, Kind=Event events.k8s.io/v1, Kind=Event]",
		{Kind: "Sceret"}:                       "[/v1, Kind=Secret]",
		{Kind: "Nope"}:                         "[]", // too short to be a misspelled Node
		{Kind: "Basket"}:                       "[]",
		{}:                                     "[]",
	} {
		if got := fmt.Sprint(table.similar(gk)); got != want {
			t.Errorf("%v: got %s, want %s", gk, got, want)
		}
	}
}
