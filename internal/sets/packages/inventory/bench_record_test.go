package inventory

import (
	"fmt"
	"testing"

	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// BenchmarkRecord writes the record of 5,000 members as a run does: all of them at first, what
// became of them at the end.
func BenchmarkRecord(b *testing.B) {
	const members = 5000
	names := make([]string, members)
	for i := range names {
		names[i] = fmt.Sprintf("map-%d", i)
	}
	after := aState(names...)
	before := aState(names...)
	for i := range before.Members {
		before.Members[i] = record.Member{Ref: before.Members[i].Ref}
	}
	b.ReportAllocs()
	for b.Loop() {
		s := NewStore(&enginetest.Cluster{}, anInventory(), true)
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
