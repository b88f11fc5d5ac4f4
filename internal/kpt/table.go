package kpt

import (
	"io"

	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/view"
)

type tableForm struct{}

func nativeTable() tableForm   { return tableForm{} }
func liveTable() tableForm     { return tableForm{} }
func progressTable() tableForm { return tableForm{} }

func newTable(out io.Writer, t view.Terminal, p *plan.Plan, f tableForm) view.Printer {
	return view.Lines(out, p, wording{}.words())
}
