package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/base/plaintext"
)

// repeatAfter is how long a block is remembered, so that it is not printed twice.
const repeatAfter = time.Minute

func (p *Progress) header(format string, values ...any) {
	p.print("---- " + fmt.Sprintf(format, values...) + " ----")
}

func (p *Progress) waitingHeader() {
	p.header("waiting on %d changes [%d/%d done]", p.waiting, p.settled, p.total)
}

// printState prints the state of an item with its reason and its children.
func (p *Progress) printState(it *item, e Event) {
	reason := p.ui.Paint(Faint, " ^ ")
	block := []string{e.State + ": " + it.WaitWord + " " + it.Description}
	if e.Message != "" {
		block = append(block, reason+plaintext.Printable(e.Message))
	}
	if e.State == "ongoing" {
		children := slices.Clone(e.Children)
		slices.SortStableFunc(children, func(a, b Child) int {
			return strings.Compare(b.Description, a.Description)
		})
		for _, child := range children {
			prefix := p.ui.Paint(Faint, " L ") + child.State
			block = append(block, prefix+": waiting on "+child.Description)
			if child.Message != "" {
				block = append(block, "   "+reason+plaintext.Printable(child.Message))
			}
		}
	}
	if at := p.print(block...); at != it.printed {
		it.before, it.printed = it.printed, at
	}
}

// print prints a block, each line with the time of day, unless it printed the same block within the
// last minute. It returns the time at which the block was printed last.
func (p *Progress) print(block ...string) time.Time {
	now := p.ui.options.Now()
	key := strings.Join(block, "\n")
	if at, ok := p.printed[key]; ok && now.Sub(at) <= repeatAfter {
		return at
	}
	p.printed[key] = now
	clock := p.ui.clock("3:04:05PM") + ": "
	for i := range block {
		block[i] = clock + block[i] + "\n"
	}
	p.ui.parts(block)
	return now
}
