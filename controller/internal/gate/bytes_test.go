package gate

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

// TestBytes: loads wait for what is free, a namespace has half, a load that is too large is alone,
// and a small one passes a large one that waits.
func TestBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, granted := NewBytes(100), &sync.Map{} // loads by name
		acquire := func(name, namespace string, bytes int64) {
			go func() {
				load, _ := b.Acquire(t.Context(), namespace, bytes)
				granted.Store(name, load)
			}()
			synctest.Wait()
		}
		load := func(name string) *Load {
			found, _ := granted.Load(name)
			l, _ := found.(*Load)
			return l
		}
		acquire("a1", "a", 30)
		acquire("a2", "a", 30) // more than half for one namespace
		acquire("b1", "b", 50)
		acquire("c1", "c", 1000) // as large as all
		acquire("c2", "c", 10)
		for name, want := range map[string]bool{
			"a1": true, "a2": false, "b1": true, "c1": false, "c2": true,
		} {
			if got := load(name) != nil; got != want {
				t.Errorf("%s: granted %t", name, got)
			}
		}
		if b.Try("d", 11) != nil {
			t.Error("more than the limit is granted")
		}
		load("a1").Release()
		load("a1").Release()
		synctest.Wait()
		if load("a2") == nil {
			t.Fatal("the namespace does not have what it gave back")
		}
		for _, name := range []string{"a2", "b1", "c2"} {
			load(name).Release()
		}
		synctest.Wait()
		if load("c1") == nil || b.Try("d", 1) != nil {
			t.Error("a load that is too large is not alone")
		}
		load("c1").Shrink(40)
		if d := b.Try("d", 60); d == nil || b.used != 100 {
			t.Errorf("after it has become smaller: %d are used", b.used)
		}
	})
}

// TestBytesGiveUp: who gives up has nothing, and does not keep others waiting.
func TestBytesGiveUp(t *testing.T) {
	b := NewBytes(100)
	first, err := b.Acquire(t.Context(), "a", 100)
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if _, err := b.Acquire(ctx, "b", 1); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	first.Release()
	if b.used != 0 || len(b.queue) != 0 || len(b.inUse) != 0 {
		t.Errorf("left: %d bytes, %d claims, %v", b.used, len(b.queue), b.inUse)
	}
}
