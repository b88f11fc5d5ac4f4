package object

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestForms(t *testing.T) {
	for _, tc := range []struct {
		ref         Ref
		short, long string
	}{
		{Ref{Kind: "Namespace", Name: "demo"}, "namespace/demo", "namespace/demo"},
		{Ref{Kind: "Service", Namespace: "demo", Name: "web"}, "service/web", "demo/service/web"},
		{Ref{"apps", "Deployment", "demo", "web"}, "deployment.apps/web", "demo/deployment.apps/web"},
	} {
		if got := tc.ref.Short(); got != tc.short {
			t.Errorf("Short() = %q, want %q", got, tc.short)
		}
		if got := tc.ref.String(); got != tc.long {
			t.Errorf("String() = %q, want %q", got, tc.long)
		}
	}
}

func TestCompareOrdersByGroupKindNamespaceName(t *testing.T) {
	want := []Ref{
		{"", "Pod", "a", "x"},
		{"", "Pod", "a", "y"},
		{"", "Pod", "b", "x"},
		{"", "Service", "a", "x"},
		{"apps", "Deployment", "a", "x"},
	}
	got := []Ref{want[3], want[1], want[4], want[0], want[2]}
	slices.SortFunc(got, Compare)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestSetKeepsOrderAndNamesBothSources(t *testing.T) {
	a := Ref{Kind: "ConfigMap", Namespace: "n", Name: "a"}
	b := Ref{Kind: "ConfigMap", Namespace: "n", Name: "b"}
	var set Set
	if err := set.Add(b, "one.yaml"); err != nil {
		t.Fatal(err)
	}
	set.Insert(a)
	err := set.Add(b, "two.yaml")
	var duplicate *DuplicateError
	if !errors.As(err, &duplicate) {
		t.Fatalf("Add of a member = %v, want a DuplicateError", err)
	}
	if diff := cmp.Diff(DuplicateError{b, "one.yaml", "two.yaml"}, *duplicate); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Ref{b, a}, set.Refs()); diff != "" {
		t.Error(diff)
	}
	var none *Set
	if none.Has(a) || none.Len() != 0 || none.Refs() != nil {
		t.Error("a nil set has members")
	}
}
