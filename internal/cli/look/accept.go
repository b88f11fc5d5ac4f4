package look

import (
	"fmt"
	"strings"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/show/view"
)

// AcceptedDocument is the JSON of how files change.
type AcceptedDocument struct {
	Files []AcceptedFile `json:"files"`
	Left  []leftValue    `json:"left"`
}

// AcceptedFile is the JSON of a file that changes.
type AcceptedFile struct {
	Path       string          `json:"path"`
	Written    bool            `json:"written"`
	Difference string          `json:"difference"` // without values of Secrets
	Values     []acceptedValue `json:"values"`
}

type acceptedValue struct {
	Object string `json:"object"`
	Field  string `json:"field"`
	Hidden bool   `json:"hidden,omitempty"`
}

type leftValue struct {
	Object string `json:"object"`
	Field  string `json:"field,omitempty"`
	Reason string `json:"reason"`
}

// NewAcceptedDocument returns the JSON of how files change, before they are written.
func NewAcceptedDocument(a *sets.Acceptance) *AcceptedDocument {
	d := &AcceptedDocument{Files: []AcceptedFile{}, Left: []leftValue{}}
	for _, file := range a.Files {
		values := []acceptedValue{}
		for _, v := range file.Values {
			values = append(values, acceptedValue{v.Ref.String(), v.Path, v.Hidden})
		}
		before, after := file.Printable()
		d.Files = append(d.Files, AcceptedFile{
			Path: file.Path, Difference: view.UnifiedTexts(before, after), Values: values,
		})
	}
	for _, l := range a.Left {
		d.Left = append(d.Left, leftValue{l.Ref.String(), l.Path, l.Reason})
	}
	return d
}

// FileDifference returns how a file changes as text, without values of Secrets: those fields are
// named below the difference.
func FileDifference(file sets.AcceptedFile) string {
	before, after := file.Printable()
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %[1]s\n%s", file.Path, view.UnifiedTexts(before, after))
	for _, v := range file.Values {
		if v.Hidden {
			fmt.Fprintf(&b, "~ %s %s: its value is not shown\n", v.Ref, v.Path)
		}
	}
	return plaintext.Printable(b.String())
}
