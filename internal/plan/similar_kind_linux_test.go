package plan

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/muster-deploy/muster/internal/object"
)

// The kinds that were meant by references to what is not in a plan are found in a time that does
// not grow with the product of the references and the objects.
func TestTimeOfSimilarKinds(t *testing.T) {
	took := func(count int) time.Duration {
		b := &builder{nodes: make([]node, count)}
		for i := range b.nodes {
			b.nodes[i].Ref = object.Ref{Kind: "ConfigMap", Namespace: "n", Name: fmt.Sprint(i)}
		}
		begin := processorTime()
		for i := range count {
			ref := object.Ref{Kind: "configmap", Name: fmt.Sprint(count - i)}
			if i > 0 && b.similarKind(ref, "n") != "ConfigMap" {
				t.Fatalf("no kind is similar to that of %v", ref)
			}
		}
		return processorTime() - begin
	}
	short, long := took(500), took(16_000)
	if long > 150*short+200*time.Millisecond {
		t.Errorf("500 references take %v, 16,000 take %v", short, long)
	}
}

// processorTime returns the time that the process has spent in its own code.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano())
}
