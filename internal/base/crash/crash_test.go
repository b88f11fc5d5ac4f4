package crash

import (
	"context"
	"strings"
	"testing"
)

// A handler receives the panic of a goroutine with its stack; without one the panic continues.
func TestCatch(t *testing.T) {
	var got any
	var where string
	done := make(chan struct{})
	ctx := With(t.Context(), func(cause any, stack []byte) { got, where = cause, string(stack) })
	go func() {
		defer close(done)
		defer Catch(context.WithoutCancel(ctx))
		panics()
	}()
	<-done
	if got != "broken" || !strings.Contains(where, "crash.panics") {
		t.Errorf("the handler got %v, and the stack:\n%s", got, where)
	}
	defer func() {
		if cause := recover(); cause != "broken" {
			t.Errorf("without a handler the panic was %v", cause)
		}
	}()
	func() {
		defer Catch(t.Context())
		panics()
	}()
}

func panics() { panic("broken") }
