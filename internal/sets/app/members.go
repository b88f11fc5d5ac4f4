package app

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// membersKey is the key of the data of a record that lists the objects of the app, and how the last
// run left each: a list in JSON, packed by gzip, in base64. kapp drops it with its first write, and
// so does a run that sets no members: then nothing but the label says what the app has.
const membersKey = "members"

// The limits of the list, packed and unpacked. A ConfigMap may have a megabyte.
const (
	maxMembers  = 900_000
	maxUnpacked = 16 << 20
	mostMembers = 50_000
)

// member is an element of the list.
type member struct {
	Group     string          `json:"group,omitempty"`
	Kind      string          `json:"kind"`
	Namespace string          `json:"namespace,omitempty"`
	Name      string          `json:"name"`
	Strategy  record.Strategy `json:"strategy,omitempty"`
	Actuation record.Progress `json:"actuation,omitempty"`
	Reconcile record.Progress `json:"reconcile,omitempty"`
}

// SetMembers sets the members that Begin and Finish record from now on. It reports false if there
// are too many of them: none is recorded then. One without a result keeps the recorded one. Members
// that others have added to the record since it was read stay, and so do those that are gone, if
// others have written the record: they may create these again.
func (a *App) SetMembers(members []record.Member, gone []object.Ref) bool {
	a.wanted = record.State{Members: members, Gone: gone}
	left, absent := object.NewSet(a.wanted.Refs()...), object.NewSet(gone...)
	known := map[object.Ref]record.Member{}
	recorded, listed := a.Members()
	list := slices.Clone(members)
	for _, m := range recorded {
		known[m.Ref] = m
		stays := a.added != nil && a.added.Has(m.Ref) || a.contended && absent.Has(m.Ref)
		if stays && left.Insert(m.Ref) {
			list = append(list, m)
		}
	}
	for i, m := range list {
		if m.Strategy == "" {
			list[i] = known[m.Ref]
			list[i].Ref = m.Ref
		}
	}
	if listed && slices.Equal(list, recorded) {
		a.members = membersText(a.stored)
		return true
	}
	a.members = packMembers(list)
	if len(a.members) > maxMembers || len(list) > mostMembers {
		a.members = ""
	}
	return a.members != ""
}

// mergeMembers adds the members of a record that others have written to those of SetMembers. Known
// are those of the record that was read before.
func (a *App) mergeMembers(known []record.Member) {
	a.contended = true
	if a.added == nil {
		a.added = object.NewSet()
	}
	before := object.NewSet((&record.State{Members: known}).Refs()...)
	now, _ := a.Members()
	for _, m := range now {
		if !before.Has(m.Ref) {
			a.added.Insert(m.Ref)
		}
	}
	if a.members != "" {
		a.SetMembers(a.wanted.Members, a.wanted.Gone)
	}
}

// packMembers returns the list in the format of the record.
func packMembers(members []record.Member) string {
	list := make([]member, len(members))
	for i, m := range members {
		list[i] = member{m.Ref.Group, m.Ref.Kind, m.Ref.Namespace, m.Ref.Name, m.Strategy, m.Actuation,
			m.Reconcile}
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(fmt.Sprintf("encode the members: %v", err)) // strings alone
	}
	return base64.StdEncoding.EncodeToString(boundedio.Gzip(text))
}

// Members returns the objects that the record lists, with how the last run left each; false if it
// lists none. They may be gone, or have lost the label of the app. The result must not be changed.
func (a *App) Members() ([]record.Member, bool) {
	if a.stored == nil {
		return nil, false
	}
	if text := membersText(a.stored); a.listed.text != text {
		members, ok := unpackMembers(text)
		a.listed = memberList{text, members, ok}
	}
	return a.listed.members, a.listed.ok
}

// memberList is a list in the format of the record with the members that it has; ok is false if it
// is none.
type memberList struct {
	text    string
	members []record.Member
	ok      bool
}

// unpackMembers returns the members of a list in the format of the record; false if it is none.
func unpackMembers(text string) ([]record.Member, bool) {
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil || text == "" || len(text) > maxMembers {
		return nil, false
	}
	unpacked, err := boundedio.NewUnpacker(maxUnpacked).Gunzip(packed)
	if err != nil {
		return nil, false
	}
	var members []record.Member
	d := json.NewDecoder(bytes.NewReader(unpacked))
	if begin, err := d.Token(); err != nil || begin != json.Delim('[') {
		return nil, false
	}
	for d.More() {
		var m member
		if d.Decode(&m) != nil || m.Kind == "" || m.Name == "" || len(members) == mostMembers ||
			len(content.IsPathSegmentName(m.Name)) > 0 ||
			len(content.IsPathSegmentName(m.Namespace)) > 0 {
			return nil, false
		}
		members = append(members, record.Member{
			Ref:      object.Ref{Group: m.Group, Kind: m.Kind, Namespace: m.Namespace, Name: m.Name},
			Strategy: m.Strategy, Actuation: m.Actuation, Reconcile: m.Reconcile,
		})
	}
	_, err = d.Token()
	return members, err == nil
}

// membersText returns the list of a record in its format; empty if it has none.
func membersText(record *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(record.Object, "data", membersKey)
	return text
}

// setMembersText sets or removes the list of a record.
func setMembersText(record *unstructured.Unstructured, text string) error {
	if text == "" {
		unstructured.RemoveNestedField(record.Object, "data", membersKey)
		return nil
	}
	return unstructured.SetNestedField(record.Object, text, "data", membersKey)
}

// changedMembers returns the members that others have added to the record of the app, or to one
// that took its place, and those of the gone ones that it still lists: all, if it lists no members.
func (a *App) changedMembers(
	record *unstructured.Unstructured, gone []object.Ref,
) (added, listed []object.Ref) {
	now, ok := unpackMembers(membersText(record))
	if !ok {
		return nil, gone
	}
	known, absent := object.NewSet(), object.NewSet(gone...)
	if before, _ := a.Members(); record.GetUID() == a.stored.GetUID() {
		for _, m := range before {
			known.Insert(m.Ref)
		}
	}
	for _, m := range now {
		switch {
		case !known.Has(m.Ref):
			added = append(added, m.Ref)
		case absent.Has(m.Ref):
			listed = append(listed, m.Ref)
		}
	}
	return added, listed
}

// LostMembers reports whether the record lists an object that is none of the members of SetMembers.
func (a *App) LostMembers() bool {
	if a.members == "" || a.members == membersText(a.stored) {
		return false
	}
	now, _ := unpackMembers(a.members)
	recorded, _ := a.Members()
	known := object.NewSet()
	for _, m := range now {
		known.Insert(m.Ref)
	}
	return slices.ContainsFunc(recorded, func(m record.Member) bool { return !known.Has(m.Ref) })
}
