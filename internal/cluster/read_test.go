package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/object"
)

// The first page is short if few objects are read. The missing objects are read one by one if many
// others follow, or else in the next page.
func TestReadAmongOthers(t *testing.T) {
	one, two := thing("v1", "ConfigMap", "n/one", ""), thing("v1", "ConfigMap", "n/two", "")
	const path = "GET /api/v1/namespaces/n/configmaps"
	const first, second = path + "?limit=20", path + "?continue=c&limit=500"
	for _, tc := range []struct {
		name  string
		rest  int
		asked []string
	}{
		{"crowded", 21, []string{path + "/two", first}},
		{"not crowded", 20, []string{second, first}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			begun := page("5", "c", one)
			begun["metadata"].(map[string]any)["remainingItemCount"] = tc.rest
			a := &api{
				groups: kindsOfAPI(),
				answers: map[string][]any{
					first: {begun}, second: {page("5", "", two)}, path + "/two": {two},
				},
			}
			targets := []Target{
				{Ref: object.Ref{Kind: "ConfigMap", Namespace: "n", Name: "one"}},
				{Ref: object.Ref{Kind: "ConfigMap", Namespace: "n", Name: "two"}},
			}
			found, err := a.start(t).Read(t.Context(), targets)
			if err != nil || len(found.Objects) != 2 {
				t.Errorf("found %v, %v", found, err)
			}
			if diff := cmp.Diff(tc.asked, a.requests()); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

// Objects in many namespaces are read in one list if it has few others. They are read in each
// namespace if it has many, or if the list is forbidden.
func TestReadManyNamespaces(t *testing.T) {
	const (
		number = 9
		all    = "GET /api/v1/configmaps?limit=90"
		second = "GET /api/v1/configmaps?continue=c&limit=500"
	)
	in := func(i int) string {
		return fmt.Sprintf(
			"GET /api/v1/namespaces/n%d/configmaps?fieldSelector=metadata.name%%3Done&limit=10",
			i,
		)
	}
	each := func(from int) []string {
		var asked []string
		for i := from; i < number; i++ {
			asked = append(asked, in(i))
		}
		return asked
	}
	var targets []Target
	for i := range number {
		targets = append(
			targets,
			Target{
				Ref: object.Ref{Kind: "ConfigMap", Namespace: fmt.Sprintf("n%d", i), Name: "one"},
			},
		)
	}
	begun := func(rest int) map[string]any {
		page := page(
			"5",
			"c",
			thing("v1", "ConfigMap", "n0/one", ""),
			thing("v1", "ConfigMap", "other/one", ""),
			thing("v1", "ConfigMap", "n1/other", ""),
		)
		page["metadata"].(map[string]any)["remainingItemCount"] = rest
		return page
	}
	var others []map[string]any
	for i := range number - 2 {
		others = append(others, thing("v1", "ConfigMap", fmt.Sprintf("n%d/one", i+1), ""))
	}
	for _, tc := range []struct {
		name    string
		answers []any
		asked   []string
	}{
		{"few others", []any{begun(160)}, []string{second, all}},
		{"many others", []any{begun(161)}, append([]string{all}, each(1)...)},
		{"not allowed", nil, append([]string{all}, each(0)...)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := &api{
				groups:  kindsOfAPI(),
				answers: map[string][]any{all: tc.answers, second: {page("5", "", others...)}},
			}
			for i := range number - 1 {
				a.answers[in(i)] = []any{
					page("6", "", thing("v1", "ConfigMap", fmt.Sprintf("n%d/one", i), "")),
				}
			}
			a.answers[in(number-1)] = []any{page("6", "")}
			found, err := a.start(t).Read(t.Context(), targets)
			if err != nil || len(found.Objects) != number-1 ||
				found.Objects[targets[number-1].Ref] != nil {
				t.Errorf("found %v, %v", found, err)
			}
			slices.Sort(tc.asked)
			if diff := cmp.Diff(tc.asked, a.requests()); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
	a := &api{groups: kindsOfAPI(), answers: map[string][]any{in(1): {page("6", "")}}}
	_, err := a.start(t).Read(t.Context(), targets[:2])
	if denied := (*DeniedError)(nil); !errors.As(err, &denied) || denied.Ref != targets[0].Ref ||
		denied.Scope != "configmaps in namespace n0" || denied.ListCause == nil ||
		denied.Resource.String() != "/v1, Resource=configmaps" {
		t.Errorf("error %v", err)
	}
	if _, err = a.start(t).Read(t.Context(), targets); err == nil ||
		strings.Count(err.Error(), "it needs the right") != number-1 {
		t.Errorf("error %v", err)
	}
}
