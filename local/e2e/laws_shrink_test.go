package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

// maxTries limits how often smaller manifests of a failure are tried.
const maxTries = 12

// shrink prints a smaller manifest of the first object for which a law did not hold: it leaves out
// fields while a set of that object alone, with the same edits, fails still.
func (b *batch) shrink() {
	all := slices.Concat(b.members, b.dropped)
	i := slices.IndexFunc(all, func(m *member) bool { return m.unknown })
	if i < 0 || b.smaller {
		return
	}
	smallest, shrunk := all[i], false
	for try := range maxTries {
		next := smallest
		if try > 0 { // the first one is the object itself, alone
			next = b.withoutField(smallest)
		}
		if next == nil {
			break
		}
		fails := b.failsAlone(next, try)
		if try == 0 && !fails {
			b.t.Logf("%s holds the laws in a set of its own", smallest.key())
			return
		}
		if fails {
			smallest, shrunk = next, try > 0
		}
	}
	if shrunk {
		b.t.Logf("smaller:\n%s\nsecond version:\n%s\nedit by others: %v",
			asYAML(smallest.versions[0]), asYAML(smallest.versions[1]), smallest.byOthers)
	}
}

// withoutField returns an object without one of its fields, in both versions; nil if the server
// accepts none of some.
func (b *batch) withoutField(m *member) *member {
	for _, edit := range b.generator.Edits(m.versions[0], m.Kind, 20, "remove") {
		if m.edit != nil && (m.edit.Path.Begins(edit.Path) || edit.Path.Begins(m.edit.Path)) {
			continue
		}
		next := *m
		accepted := true
		for v := range next.versions {
			next.versions[v] = edit.Apply(m.versions[v])
			_, err := b.dryRun(next.versions[v])
			accepted = accepted && err == nil
		}
		if accepted {
			return &next
		}
	}
	return nil
}

// failsAlone reports whether a law does not hold for a set of one object.
func (b *batch) failsAlone(m *member, try int) bool {
	return !b.t.Run(fmt.Sprintf("smaller/%d", try), func(t *testing.T) {
		alone := &batch{
			t: t, lawForm: b.lawForm, generator: b.generator, client: b.client, mapper: b.mapper,
			dir: t.TempDir(), namespace: fmt.Sprintf("%s-%d", b.namespace, try), smaller: true,
		}
		check(t, createNamespace(t.Cleanup, alone.namespace))
		check(t, writeKubeconfig(filepath.Join(alone.dir, "kubeconfig"), alone.namespace))
		alone.createTarget()
		alone.members = []*member{alone.copyOf(m)}
		alone.check()
	})
}

// copyOf returns an object for the namespace of the batch, before anything has happened to it.
func (b *batch) copyOf(m *member) *member {
	b.t.Helper()
	fresh := &member{Kind: m.Kind, edit: m.edit, byOthers: m.byOthers}
	for v, obj := range m.versions {
		obj = obj.DeepCopy()
		if obj.GetNamespace() == "" {
			obj.SetName(b.namespace)
		} else {
			obj.SetNamespace(b.namespace)
		}
		want, ignored := b.expected(obj)
		fresh.versions[v], fresh.want[v] = obj, want
		fresh.ignored[v] = slices.Concat(ignored, m.Pinned)
	}
	return fresh
}
