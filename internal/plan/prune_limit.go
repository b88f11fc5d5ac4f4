package plan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// PruneLimit is the largest number of objects that a run may prune: a number, or a percentage of
// the objects that the set has. The zero value is no limit.
type PruneLimit struct {
	text  string // as Set read it
	value int
	share bool // value is a percentage
}

// Set reads a limit such as 5 or 10%. With String and Type, a limit is the value of a flag.
func (l *PruneLimit) Set(text string) error {
	digits, share := strings.CutSuffix(text, "%")
	value, err := strconv.Atoi(digits)
	if err != nil || value < 0 || share && value > 100 {
		return errors.New("must be a number of objects such as 5, or a percentage such as 10%")
	}
	*l = PruneLimit{text: text, value: value, share: share}
	return nil
}

// String returns the text that was read.
func (l *PruneLimit) String() string { return l.text }

// Type returns the word for the value in help.
func (l *PruneLimit) Type() string { return "N|P%" }

// Check returns a *PruneLimitError if the objects to be pruned are more than the limit; total is
// the number of objects that the set has.
func (l *PruneLimit) Check(pruned []string, total int) error {
	count, limit := len(pruned), l.value
	if l.share {
		count, limit = count*100, limit*total
	}
	if l.text == "" || count <= limit {
		return nil
	}
	return &PruneLimitError{Pruned: pruned, Total: total, Limit: l.text}
}

// PruneLimitError reports a plan that would prune more objects than a PruneLimit allows.
type PruneLimitError struct {
	Pruned []string // the objects, in the order of the plan
	Total  int      // number of objects of the set
	Limit  string
}

// shownPruned is how many objects the text of a PruneLimitError names.
const shownPruned = 5

// Error returns both numbers, some of the objects and the way out.
func (e *PruneLimitError) Error() string {
	shown, more := e.Pruned, ""
	if len(shown) > shownPruned+1 {
		more = fmt.Sprintf("\n- and %d more", len(shown)-shownPruned)
		shown = shown[:shownPruned]
	}
	return fmt.Sprintf("%d of %d objects would be pruned, more than --max-prune=%s allows; nothing "+
		"was applied or deleted:\n- %s%s\ncheck that no manifest is missing, or raise --max-prune",
		len(e.Pruned), e.Total, e.Limit, strings.Join(shown, "\n- "), more)
}

// Removes reports whether the plan deletes or releases an object that is no longer desired.
// Objects that others have taken over do not count.
func (p *Plan) Removes() bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool {
		return s.Op == Delete || s.Op == Orphan && s.ReasonCode != ReasonForeign
	})
}

// Pruned returns the objects that the plan deletes because they are no longer desired.
func (p *Plan) Pruned() []string {
	var pruned []string
	for i := range p.Steps {
		if p.Steps[i].Op == Delete {
			pruned = append(pruned, p.Steps[i].Ref.String())
		}
	}
	return pruned
}
