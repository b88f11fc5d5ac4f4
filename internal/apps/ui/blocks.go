package ui

import (
	"slices"
	"strings"
	"time"
)

// memory is how long a block is remembered, so as not to be told twice.
const memory = time.Minute

// show tells the state of an item, why it is in it, and of what it is made.
func (p *Progress) show(it *item, e Event) {
	why := p.ui.Paint(Faint, " ^ ")
	block := []string{e.State + ": " + it.WaitWord + " " + it.Description}
	if e.Message != "" {
		block = append(block, why+e.Message)
	}
	if e.State == "ongoing" {
		children := slices.Clone(e.Children)
		slices.SortStableFunc(children, func(a, b Child) int { return strings.Compare(b.Description, a.Description) })
		for _, child := range children {
			block = append(block, p.ui.Paint(Faint, " L ")+child.State+": waiting on "+child.Description)
			if child.Message != "" {
				block = append(block, "   "+why+child.Message)
			}
		}
	}
	told := p.tell(block...)
	if told != it.told {
		it.before, it.told = it.told, told
	}
}

// tell prints a block, each line with the time of day, unless it printed the same within the last minute. It gives the time when
// the block was printed last.
func (p *Progress) tell(block ...string) time.Time {
	now := p.ui.options.Now()
	key := strings.Join(block, "\n")
	if when, ok := p.told[key]; ok && now.Sub(when) <= memory {
		return when
	}
	p.told[key] = now
	clock := p.ui.clock("3:04:05PM") + ": "
	for i := range block {
		block[i] = clock + block[i] + "\n"
	}
	p.ui.parts(block)
	return now
}
