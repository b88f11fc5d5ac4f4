package ready

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxCauses is the number of causes of an object that are listed. Thousands of pods may fail in
// different ways, and anybody who writes events can report more.
const maxCauses = 20

// content returns the message without what differs from attempt to attempt.
func (c *Cause) content() string {
	if c.same != "" {
		return c.same
	}
	return withoutTemporary(c.Message)
}

// causeKey is what causes have in common that are the same.
type causeKey struct {
	schema.GroupKind
	similar bool
	text    string
}

// merged merges equal causes of objects of one kind.
func merged(found []Cause) []Cause {
	var all []Cause
	known := map[causeKey]int{}
	for _, c := range found {
		c.same = c.content()
		keys := []causeKey{{c.Object.GroupKind(), false, c.same}}
		if c.similarity != "" {
			keys = append(keys, causeKey{c.Object.GroupKind(), true, c.similarity})
		}
		at := len(all)
		for _, key := range keys {
			if i, ok := known[key]; ok {
				at = min(at, i)
			}
		}
		if at < len(all) {
			all[at].add(&c)
			continue
		}
		for _, key := range keys {
			known[key] = at
		}
		all = append(all, c)
	}
	return all
}

// add adds an equal cause of another object.
func (c *Cause) add(other *Cause) {
	c.Count++
	c.Stuck = c.Stuck || other.Stuck
	c.Certain = c.Certain || other.Certain
	c.Reports += other.Reports
	if c.Idle = c.Idle && other.Idle; other.Until.Before(c.Until) {
		c.Until = other.Until
	}
	c.Delay = min(c.Delay, other.Delay)
}

// limited returns the causes that are listed. If there are more, those that need a change come
// first, and the last one is the number of the others.
func (s *search) limited(causes []Cause) []Cause {
	if len(causes) <= maxCauses {
		return causes
	}
	slices.SortStableFunc(causes, func(a, b Cause) int { return cmp.Compare(a.rank(), b.rank()) })
	rest := causes[maxCauses:]
	others := Cause{
		Object: s.root.Ref, Count: 1, Idle: true, Delay: rest[0].Delay, similarity: "other causes",
		Message: fmt.Sprintf("%d other causes are not listed", len(rest)),
	}
	for _, c := range rest {
		others.Idle, others.Delay = others.Idle && c.Idle, min(others.Delay, c.Delay)
	}
	return append(causes[:maxCauses:maxCauses], others)
}

// rank returns the place of a cause among many.
func (c *Cause) rank() int {
	switch {
	case c.Certain:
		return 0
	case c.Stuck:
		return 1
	case !c.Idle:
		return 2
	}
	return 3
}
