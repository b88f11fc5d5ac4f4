package history

import (
	"fmt"
	"testing"
)

// BenchmarkWrite writes the revision of 5,000 objects to a full history.
func BenchmarkWrite(b *testing.B) {
	s := newStore(&server{})
	s.Limit = 1
	var objects []Object
	for i := range 5000 {
		objects = append(objects, configMap(fmt.Sprintf("object-%d", i), "value of "+fmt.Sprint(i)))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Write(b.Context(), Revision{Objects: objects}); err != nil {
			b.Fatal(err)
		}
	}
}
