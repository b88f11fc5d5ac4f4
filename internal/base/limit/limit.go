// Package limit holds limits of time. A time.Duration whose zero means "without limit" turns each
// forgotten field into a command that never ends; the zero of a Time means that nothing was
// decided, and whoever uses it has a default that ends.
package limit

import (
	"context"
	"time"
)

// Time is how long something may take. The zero value is not set: the user of a Time has a default
// for it, which is never "without limit". Times are compared with ==.
type Time struct {
	after time.Duration // 0 is not set, endless is without limit
}

// endless is the value of a Time without limit.
const endless time.Duration = -1

// After returns a limit of that length. What may take no time at all is over at once.
func After(d time.Duration) Time { return Time{max(d, time.Nanosecond)} }

// None returns the limit that is never over. It takes a decision of the user, in words: "0 means
// no limit".
func None() Time { return Time{endless} }

// OfFlag returns the limit of a flag whose documented meaning is that 0 is without limit.
func OfFlag(d time.Duration) Time {
	if d <= 0 {
		return None()
	}
	return After(d)
}

// IsSet reports whether the limit was decided, be it for None.
func (t Time) IsSet() bool { return t.after != 0 }

// Or returns the limit, or another one if it is not set.
func (t Time) Or(other Time) Time {
	if t.IsSet() {
		return t
	}
	return other
}

// Ends reports whether the limit is over some day.
func (t Time) Ends() bool { return t.after > 0 }

// Duration returns the length of a limit that ends, and 0 for others.
func (t Time) Duration() time.Duration { return max(t.after, 0) }

// From returns the moment at which the limit is over if it begins at another; zero if it does not
// end.
func (t Time) From(begin time.Time) time.Time {
	if !t.Ends() {
		return time.Time{}
	}
	return begin.Add(t.after)
}

// Context returns a context that ends when the limit is over, if it ends.
func (t Time) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	if !t.Ends() {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, t.after)
}

// String formats the limit for people.
func (t Time) String() string {
	switch {
	case t.Ends():
		return t.after.String()
	case t.IsSet():
		return "no limit"
	default:
		return "the default"
	}
}

// First returns the first of some limits that ends; None if there is none.
func First(limits ...Time) Time {
	for _, t := range limits {
		if t.Ends() {
			return t
		}
	}
	return None()
}
