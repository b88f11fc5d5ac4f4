package gate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// enter asks for a slot in a goroutine, and sends the name of who got it.
func enter(t *testing.T, g *Gate, namespace, name string, got chan<- string) {
	t.Helper()
	go func() {
		if _, err := g.Enter(t.Context(), namespace); err == nil {
			got <- name
		}
	}()
	synctest.Wait()
}

func TestNamespacesAreServedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1, 1, nil)
		leave, err := g.Enter(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan string, 10)
		for _, name := range []string{"a1", "a2", "a3", "b1"} {
			enter(t, g, name[:1], name, got)
		}
		leave()
		for _, want := range []string{"a1", "b1", "a2", "a3"} {
			if name := <-got; name != want {
				t.Errorf("%s was served, want %s", name, want)
			}
			g.leave(want[:1])
		}
	})
}

func TestOneNamespaceLeavesSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, got := New(3, 2, nil), make(chan string, 10)
		for _, name := range []string{"a1", "a2", "a3", "b1"} {
			enter(t, g, name[:1], name, got)
		}
		seen := map[string]bool{<-got: true, <-got: true, <-got: true}
		if !seen["a1"] || !seen["a2"] || !seen["b1"] {
			t.Errorf("served: %v", seen)
		}
		g.leave("b")
		synctest.Wait()
		if len(got) != 0 {
			t.Errorf("a third slot of one namespace was granted")
		}
		g.leave("a")
		if name := <-got; name != "a3" {
			t.Errorf("%s was served", name)
		}
	})
}

func TestGivingUpFreesNothingOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1, 1, nil)
		leave, err := g.Enter(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.Enter(ctx, "b"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("error: %v", err)
		}
		leave()
		leave() // does nothing
		if _, err := g.Enter(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		if g.used != 1 || len(g.rotation) != 0 || len(g.queues) != 0 {
			t.Errorf("used %d, rotation %v, queues %v", g.used, g.rotation, g.queues)
		}
	})
}
