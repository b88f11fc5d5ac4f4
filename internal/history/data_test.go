package history

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
)

// Data that is withheld is completed from a live Secret that has the same data.
func TestComplete(t *testing.T) {
	c := &server{}
	s := newStore(c)
	s.Secrets = OnlyDigest
	wanted := secret("shop", "a", "hunter")
	wanted.Object["data"] = map[string]any{"key": "AAE=\n"}
	write(t, s, Meta{}, wanted)
	live := func(password string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"data": map[string]any{"key": "AAE=", "password": password},
		}}
	}
	for password, same := range map[string]bool{"aHVudGVy": true, "b3RoZXI=": false} {
		r, err := s.Read(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		obj := &r.Objects[0]
		if obj.Withheld == nil || obj.Complete(nil) || obj.Complete(live(password)) != same ||
			(obj.Withheld == nil) != same {
			t.Errorf("%s: withheld: %v", password, obj.Withheld)
		}
		if same {
			// Keys of others do not count, and do not become those of the object.
			r, _ := s.Read(t.Context(), 1)
			shared := live(password)
			shared.Object["data"].(map[string]any)["theirs"] = "eA=="
			if !r.Objects[0].Complete(shared) {
				t.Error("the key of others counts")
			}
			check(t, "data", r.Objects[0].Object["data"], any(map[string]any{"key": "AAE="}))
			check(t, "strings", obj.Object["stringData"], any(map[string]any{"password": "hunter"}))
			check(t, "data", obj.Object["data"], any(map[string]any{"key": "AAE="}))
		}
	}
}

// Details are read with the objects, and not listed.
func TestDetails(t *testing.T) {
	s := newStore(&server{})
	want := Details{
		Rules: []File{{"rules.yaml", "rules: []\n"}}, Settings: json.RawMessage(`{"a":1}`),
		Adopted:  []object.Ref{{Kind: "ConfigMap", Namespace: "shop", Name: "a"}},
		Evidence: []Evidence{{State: "0 of 2", Causes: []Cause{{Message: "no", Log: []string{"1"}}}}},
	}
	r := Revision{Details: want, Objects: []Object{configMap("a", "1")}}
	if _, err := s.Write(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	found, err := s.Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "details", found.Details, want)
}

// Only revisions of successful runs of whole sets are good, and a rollback wants another content.
func TestGood(t *testing.T) {
	s := newStore(&server{})
	content, err := Content([]Object{configMap("b", "1"), configMap("a", "1")}, false)
	written := write(t, s, Meta{Outcome: Failed}, configMap("a", "1"), configMap("b", "1"))
	if err != nil || content != written.Content {
		t.Errorf("content %s, %v, want %s", content, err, written.Content)
	}
	s = newStore(&server{})
	good := func(last, before int) {
		t.Helper()
		heads, err := s.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		h, _ := LastGood(heads)
		b, _ := GoodBefore(heads)
		check(t, "last good and good before", []int{h.Number, b.Number}, []int{last, before})
	}
	write(t, s, Meta{Outcome: Failed}, configMap("a", "0"))
	good(0, 0)
	applied := newStore(&server{})
	for _, value := range []string{"1", "2"} {
		write(t, applied, Meta{Outcome: Applied}, configMap("a", value))
	}
	heads, _ := applied.List(t.Context())
	last, _ := LastGood(heads)
	before, _ := GoodBefore(heads)
	check(t, "last and before of those that were not waited for", []int{last.Number, before.Number},
		[]int{2, 1})
	write(t, applied, Meta{Outcome: Succeeded}, configMap("a", "3"))
	write(t, applied, Meta{Outcome: Applied}, configMap("a", "4"))
	heads, _ = applied.List(t.Context())
	last, _ = LastGood(heads)
	newest, _ := LastApplied(heads)
	check(t, "last good and last applied", []int{last.Number, newest.Number}, []int{3, 4})
	write(t, s, Meta{Outcome: Succeeded}, configMap("a", "1"))
	good(2, 0)
	write(t, s, Meta{Outcome: Succeeded, Partial: "why"}, configMap("a", "2"))
	good(2, 2)
	write(t, s, Meta{Outcome: Succeeded}) // destroyed
	good(2, 2)
	write(t, s, Meta{Outcome: Succeeded}, configMap("a", "3"))
	good(5, 2)
	write(t, s, Meta{Outcome: Succeeded}, configMap("a", "3"))
	good(6, 2)
	write(t, s, Meta{Outcome: Failed}, configMap("a", "4"))
	good(6, 6)
	h, err := s.LastGood(t.Context())
	if err != nil || h == nil || h.Number != 6 {
		t.Errorf("last good: %v, %v", h, err)
	}
	s.Set.ID = "other"
	earlier, err := s.Earlier(t.Context())
	if err != nil || len(earlier) != 7 {
		t.Errorf("earlier: %v, %v", earlier, err)
	}
}
