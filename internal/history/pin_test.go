package history

import (
	"errors"
	"testing"
)

// A pinned revision stays beyond the limit; one that is not pinned any more is deleted.
func TestPin(t *testing.T) {
	server := &server{}
	s := newStore(server)
	s.Limit = 2
	write := func() {
		r := Revision{Meta: Meta{Outcome: Succeeded}, Objects: []Object{configMap("a", "1")}}
		if _, err := s.Write(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	list := func() []Head {
		heads, err := s.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return heads
	}
	pin := func(name string, pinned bool) {
		h, err := s.Find(list(), name)
		if err == nil {
			err = s.Pin(t.Context(), h, pinned)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write()
	pin("last", true)
	write()
	write()
	if heads := list(); len(heads) != 2 || heads[1].Number != 1 || !heads[1].Pinned {
		t.Errorf("with a pinned revision there are %+v", heads)
	}
	pin("1", false)
	write()
	if heads := list(); len(heads) != 2 || heads[1].Number != 3 {
		t.Errorf("afterwards there are %+v", heads)
	}
}

// A revision is found by its number or by a name.
func TestFind(t *testing.T) {
	s := newStore(&server{})
	heads := []Head{
		{Meta: Meta{Number: 9, Outcome: Failed}},
		{Meta: Meta{Number: 8, Outcome: Succeeded, Objects: 1}},
		{Meta: Meta{Number: 7, Outcome: Succeeded, Objects: 1}},
	}
	for text, want := range map[string]int{"last": 9, "good": 8, "7": 7} {
		h, err := s.Find(heads, text)
		if err != nil || h.Number != want || !IsName(text) {
			t.Errorf("%q is revision %d, %v; want %d", text, h.Number, err, want)
		}
	}
	none := (*NotFoundError)(nil)
	if _, err := s.Find(heads, "6"); !errors.As(err, &none) || none.Number != 6 {
		t.Errorf("a revision that does not exist: %v", err)
	}
	if _, err := s.Find(nil, "last"); !errors.As(err, &none) || none.Number != 0 {
		t.Errorf("the last one of none: %v", err)
	}
	if _, err := s.Find(heads[:1], "good"); !errors.Is(err, ErrNoneGood) {
		t.Errorf("the good one of none: %v", err)
	}
	for _, text := range []string{"0", "-1", "shop", ""} {
		if _, err := s.Find(heads, text); !errors.Is(err, ErrName) || IsName(text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
