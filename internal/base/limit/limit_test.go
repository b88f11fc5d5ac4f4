package limit

import (
	"testing"
	"time"
)

// Only a limit that was decided to be none never ends, and no limit is none by its zero value.
func TestZeroIsNotEndless(t *testing.T) {
	var unset Time
	switch {
	case unset == None():
		t.Error("the zero value is without limit")
	case unset.IsSet() || !None().IsSet() || !After(0).IsSet():
		t.Error("IsSet is wrong")
	case unset.Or(After(time.Second)) != After(time.Second):
		t.Error("a default does not replace the zero value")
	case None().Or(After(time.Second)) != None():
		t.Error("a default replaces a decision")
	case !After(0).Ends() || !After(-time.Hour).Ends():
		t.Error("a limit without length does not end")
	case OfFlag(0) != None() || OfFlag(time.Minute) != After(time.Minute):
		t.Error("OfFlag is wrong")
	case First(unset, None(), After(time.Hour), After(time.Minute)) != After(time.Hour):
		t.Error("First is wrong")
	case First(unset) != None():
		t.Error("First of none is wrong")
	}
	now := time.Now()
	if !None().From(now).IsZero() || !After(time.Hour).From(now).Equal(now.Add(time.Hour)) {
		t.Error("From is wrong")
	}
}

func TestString(t *testing.T) {
	for limit, want := range map[Time]string{
		{}: "the default", None(): "no limit", After(time.Minute): "1m0s",
	} {
		if got := limit.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
