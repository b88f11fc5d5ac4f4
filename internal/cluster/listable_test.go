package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestListable(t *testing.T) {
	a := &api{groups: kindsOfAPI()}
	a.groups["down.example.com/v1"] = nil
	found, err := a.start(t).Listable(t.Context())
	want := []Listable{{configMaps, "v1", true}, {namespaces, "v1", false}, {deployments, "v1", true}}
	if diff := cmp.Diff(want, found); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestComplete has a group that cannot be described: for good, or at first.
func TestComplete(t *testing.T) {
	down := func() (*api, *Client) {
		a := &api{groups: kindsOfAPI()}
		a.groups["down.example.com/v1"] = nil
		c := a.start(t)
		c.pause = time.Millisecond
		return a, c
	}
	const text = "unable to retrieve the complete list of server APIs: down.example.com/v1: no"
	a, c := down()
	if err := c.Complete(t.Context(), nil); err == nil || err.Error() != text {
		t.Errorf("%v, want %s", err, text)
	}
	if a.described != 2*describeAttempts { // the library asks twice each time
		t.Errorf("%d attempts, want %d", a.described, describeAttempts)
	}
	if _, err := c.Select(t.Context(), Selection{Selector: "x=y", Kinds: []schema.GroupKind{}}); err == nil || err.Error() != text {
		t.Errorf("select: %v, want %s", err, text)
	}
	_, c = down()
	if err := c.Complete(t.Context(), func(group string) bool { return group == "down.example.com" }); err != nil {
		t.Errorf("what may be missing: %v", err)
	}
	a, c = down()
	a.repaired = 3
	if err := c.Complete(t.Context(), nil); err != nil || a.described != 3 {
		t.Errorf("%d attempts, %v", a.described, err)
	}
	_, c = down()
	ctx, cancel := context.WithCancel(t.Context())
	c.pause = time.Hour
	time.AfterFunc(50*time.Millisecond, cancel)
	if err := c.Complete(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// TestRefusedDiscovery covers servers that do not say which kinds they have.
func TestRefusedDiscovery(t *testing.T) {
	for _, tc := range []struct {
		codes []int
		want  string
	}{
		{codes: []int{http.StatusServiceUnavailable, http.StatusInternalServerError}},
		{codes: []int{http.StatusForbidden}, want: "the server does not tell which kinds it has: Forbidden"},
		{codes: []int{http.StatusUnauthorized}, want: "the server has asked for the client to provide credentials"},
	} {
		a := &api{groups: kindsOfAPI(), discovery: tc.codes}
		_, err := a.start(t).Kind(t.Context(), configMaps)
		if got := fmt.Sprint(err); tc.want == "" && err != nil || tc.want != "" && got != tc.want {
			t.Errorf("%v: %s, want %s", tc.codes, got, tc.want)
		}
	}
}
