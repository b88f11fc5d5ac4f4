package app

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// A record lists its members from the deployment that sets them on. One that sets none, as those of
// kapp, drops the list.
func TestMembers(t *testing.T) {
	f := newFake()
	a, err := newStore(f).Ensure(t.Context(), Request{Name: "web", Namespace: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	if members, ok := a.Members(); ok {
		t.Errorf("a new record lists %v", members)
	}
	deploy := func(members ...record.Member) *App {
		t.Helper()
		again, err := newStore(f).Find(t.Context(), "web", "demo")
		if err != nil {
			t.Fatal(err)
		}
		if members != nil && !again.SetMembers(members, nil) {
			t.Errorf("%d members are too many", len(members))
		}
		if err := again.Begin(t.Context(), "update", nil, false); err != nil {
			t.Fatal(err)
		}
		found, err := newStore(f).Find(t.Context(), "web", "demo")
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	ref := object.Ref{Group: "apps", Kind: "Deployment", Namespace: "demo", Name: "web"}
	late := record.Member{
		Ref: ref, Strategy: record.Apply, Actuation: record.Succeeded, Reconcile: record.TimedOut,
	}
	want := []record.Member{late, {Ref: object.Ref{Kind: "Namespace", Name: "demo"}}}
	for _, given := range [][]record.Member{want, {{Ref: ref}, want[1]}} {
		members, _ := deploy(given...).Members()
		if diff := cmp.Diff(want, members); diff != "" {
			t.Errorf("members (-want +got):\n%s", diff)
		}
	}
	found := deploy()
	if members, ok := found.Members(); ok {
		t.Errorf("after another tool: %v", members)
	}
	for _, text := range []string{"", "no base64", "YWJj", packed(`{}`), packed(`[{"kind":"Secret"}]`),
		packed(`[{"kind":"Secret","name":"a/b"}]`), packed(`[{"kind":"Secret","name":"a"}`),
		packed("[" + strings.Repeat(`{"kind":"Secret","name":"a"},`, 100_000) + "{}]"),
		packed("[" + strings.Repeat(`{},`, 5<<20) + "{}]"), packed(strings.Repeat(" ", 20<<20) + "[]"),
	} {
		if err := setMembersText(found.stored, text); err != nil {
			t.Fatal(err)
		}
		if members, ok := found.Members(); ok {
			t.Errorf("%.40q lists %d members", text, len(members))
		}
	}
}

// packed returns a text in the format of the list.
func packed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // it does not fail
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// A list that does not fit into a record is left out.
func TestTooManyMembers(t *testing.T) {
	a, err := newStore(newFake()).Ensure(t.Context(), Request{Name: "web", Namespace: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	members := make([]record.Member, 20_000)
	for i := range members {
		name := make([]byte, 32)
		_, _ = rand.Read(name) // it does not fail
		members[i].Ref = object.Ref{Kind: "ConfigMap", Name: hex.EncodeToString(name)}
	}
	if a.SetMembers(members, nil) || a.members != "" {
		t.Errorf("%d bytes are recorded", len(a.members))
	}
	if !a.SetMembers(members[:1000], nil) {
		t.Error("1000 members are too many")
	}
}
