package operation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// Compare returns an error unless both plans are the same. The set is an app or a package.
func (s *SavedPlan) Compare(now *SavedPlan, set string) error {
	if s.Inventory != now.Inventory {
		made := "it was made for the inventory %s, and this one has %s"
		if set == "app" {
			made = "it was made for %s, and this one is %s"
		}
		return fmt.Errorf("the plan is of another %s: "+made, set, s.Inventory, now.Inventory)
	}
	if !s.Server.equal(now.Server) {
		return fmt.Errorf(
			"the plan was made for another cluster: %s, and this is %s",
			s.Server.distinctName(now.Server), now.Server.distinctName(s.Server),
		)
	}
	moved := s.differences(now)
	if len(moved) == 0 {
		return nil
	}
	who := "the cluster has"
	if s.Package != now.Package {
		who = "the cluster or the " + set + " has"
	}
	return fmt.Errorf(
		"%s changed since the plan was created:\n- %s\ncreate a new plan", who,
		strings.Join(moved, "\n- "),
	)
}

// equal reports whether both are the same cluster, which may have several addresses.
func (s savedServer) equal(other savedServer) bool {
	if s.UID != "" && other.UID != "" {
		return s.UID == other.UID
	}
	return s.Host == other.Host
}

// distinctName returns the address of the cluster, with the UID if other has the same address.
func (s savedServer) distinctName(other savedServer) string {
	if s.Host != other.Host {
		return s.Host
	}
	return fmt.Sprintf("%s (%s)", s.Host, s.UID)
}

// differences returns a line for each object whose operation differs.
func (s *SavedPlan) differences(now *SavedPlan) []string {
	before, after := s.byRef(), now.byRef()
	var moved []string
	for _, step := range s.Steps {
		if current, ok := after[step.Ref]; !ok {
			moved = append(moved, fmt.Sprintf(
				"%s was to be %s, and is to be left alone now", step.Ref, pastTense[step.Op],
			))
		} else if difference := step.difference(current); difference != "" {
			moved = append(moved, fmt.Sprintf("%s %s", step.Ref, difference))
		}
	}
	for _, step := range now.Steps {
		if _, ok := before[step.Ref]; !ok {
			moved = append(moved,
				fmt.Sprintf("%s is to be %s now, and is not in the plan", step.Ref, pastTense[step.Op]))
		}
	}
	slices.Sort(moved)
	return moved
}

func (s *SavedPlan) byRef() map[object.Ref]savedStep {
	steps := make(map[object.Ref]savedStep, len(s.Steps))
	for _, step := range s.Steps {
		steps[step.Ref] = step
	}
	return steps
}

// difference returns how the operation on an object differs from the planned one, or an empty
// string.
func (s savedStep) difference(now savedStep) string {
	switch {
	case s.Op != now.Op:
		return fmt.Sprintf("was to be %s, and is to be %s now", pastTense[s.Op], pastTense[now.Op])
	case s.UID != now.UID:
		return "was replaced by another object with its name"
	case s.Digest != now.Digest && s.ResourceVersion != now.ResourceVersion:
		return "would change differently: it was modified since"
	case s.Digest != now.Digest:
		return "would be written differently: its manifest has changed"
	case s.Reason != now.Reason:
		return fmt.Sprintf(
			"was to be %s because %s, and now because %s", pastTense[s.Op], s.Reason, now.Reason,
		)
	default:
		return ""
	}
}

// pastTense is the past participle of each operation.
var pastTense = map[plan.Op]string{
	plan.Create: "created", plan.Update: "configured", plan.Unchanged: "left unchanged",
	plan.Delete: "pruned",
	plan.Orphan: "orphaned", plan.Keep: "kept", plan.Skip: "skipped",
	plan.AwaitCreated: "awaited", plan.AwaitDeleted: "awaited",
}
