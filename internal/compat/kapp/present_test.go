package kapp

import (
	"testing"

	"github.com/muster-deploy/muster/internal/compat/kapp/change"
	"github.com/muster-deploy/muster/internal/compat/kapp/ui"
)

// Good news is green and bad news red, as kapp prints them.
func TestStyles(t *testing.T) {
	yes, no := true, false
	for name, tc := range map[string]struct {
		cell ui.Cell
		want ui.Style
	}{
		"ok":        {stateCell("ok"), ui.Green},
		"ongoing":   {stateCell("ongoing"), ui.Red},
		"no state":  {stateCell(""), ui.None},
		"succeeded": {successCell(&yes), ui.Green},
		"failed":    {successCell(&no), ui.Red},
		"running":   {successCell(nil), ui.None},
		"create":    {opCell(string(change.Add)), ui.Green},
		"exists":    {opCell(string(change.Exists)), ui.Green},
		"delete":    {opCell(string(change.Delete)), ui.Red},
		"noop":      {opCell(""), ui.None},
	} {
		if tc.cell.Style != tc.want {
			t.Errorf("%s: %q, want %q", name, tc.cell.Style, tc.want)
		}
	}
}
