package view

import (
	"fmt"
	"time"

	"github.com/muster-deploy/muster/internal/ready"
)

// TextCell returns a cell without colour.
func TextCell(text string) []Span { return []Span{{Text: text}} }

// EmptyCell returns a cell without text.
func EmptyCell(TableRow) []Span { return nil }

// NamespaceCell returns the namespace of an object.
func NamespaceCell(m TableRow) []Span { return TextCell(m.Ref.Namespace) }

// ResourceCell returns the kind and the name of an object, behind its place in a tree.
func ResourceCell(m TableRow) []Span {
	return TextCell(m.TreePrefix + m.Ref.Kind + "/" + m.Ref.Name)
}

// StateCell returns the state of an object in its colour.
func StateCell(m TableRow) []Span {
	state := m.Status.State
	if state == "" {
		state = ready.Unknown
	}
	return []Span{{Text: string(state), Colour: ColourOf(state)}}
}

// MessageCell returns the reason of a failure, or else the message of the status.
func MessageCell(m TableRow) []Span {
	if m.Reason != "" {
		return TextCell(m.Reason)
	}
	return TextCell(m.Status.Message)
}

// AgeCell returns the cell with the age of an object; now is the clock.
func AgeCell(now func() time.Time) func(TableRow) []Span {
	return func(m TableRow) []Span {
		if m.Facts == nil || m.Facts.Created.IsZero() {
			return TextCell("-")
		}
		return TextCell(Age(now().Sub(m.Facts.Created)))
	}
}

// Age formats a duration in one unit.
func Age(d time.Duration) string {
	switch {
	case d <= 90*time.Second:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d <= 90*time.Minute:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	default:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
}
