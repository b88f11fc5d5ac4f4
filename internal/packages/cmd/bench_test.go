package cmd

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/engine/enginetest"
	"github.com/muster-deploy/muster/internal/record"
)

// BenchmarkOpen reads a package of 5,000 objects in 50 files.
func BenchmarkOpen(b *testing.B) {
	const files, each = 50, 100
	dir := b.TempDir()
	writeFile(b, filepath.Join(dir, "Kptfile"), "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: demo}\n"+
		"inventory: {name: inventory, namespace: n, inventoryID: id-1}\n")
	for f := range files {
		var text strings.Builder
		for i := range each {
			fmt.Fprintf(&text, "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map-%d-%d\n  namespace: n\ndata:\n  key: value\n", f, i)
		}
		writeFile(b, filepath.Join(dir, fmt.Sprintf("maps-%d.yaml", f)), text.String())
	}
	b.ReportAllocs()
	for b.Loop() {
		p, err := open(&cli.Env{In: strings.NewReader(""), Err: io.Discard}, dir)
		if err != nil || len(p.objects) != files*each {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*files*each), "ns/object")
}

// BenchmarkRecord writes the record of 5,000 members as a run does: all of them at first, what became of them at the end.
func BenchmarkRecord(b *testing.B) {
	const members = 5000
	names := make([]string, members)
	for i := range names {
		names[i] = fmt.Sprintf("map-%d", i)
	}
	after := aState(names...)
	before := aState(names...)
	for i := range before.Members {
		before.Members[i].Actuation, before.Members[i].Reconcile = record.Pending, record.Pending
	}
	b.ReportAllocs()
	for b.Loop() {
		s := newStore(&enginetest.Cluster{}, anInventory(), "all")
		if _, err := s.Load(b.Context()); err != nil {
			b.Fatal(err)
		}
		for _, state := range []*record.State{before, after} {
			if err := s.Save(b.Context(), state); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*members), "ns/member")
}
