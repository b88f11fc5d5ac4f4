package packages

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// Check compares a saved plan with the plan of an operation. The operation may run only if they are the same.
func (s *SavedPlan) Check(ctx context.Context, o *Operation) error {
	now, err := o.Save(ctx, "")
	if err != nil {
		return err
	}
	if s.Inventory != now.Inventory {
		return fmt.Errorf("the plan is of another package: it was made for the inventory %s, and this one has %s", s.Inventory, now.Inventory)
	}
	if !s.Server.same(now.Server) {
		return fmt.Errorf("the plan was made for another cluster: %s, and this is %s", s.Server.besides(now.Server), now.Server.besides(s.Server))
	}
	moved := s.moved(now)
	if len(moved) == 0 {
		return nil
	}
	who := "the cluster has"
	if s.Package != now.Package {
		who = "the cluster or the package has"
	}
	return fmt.Errorf("%s moved since the plan was made:\n- %s\nmake a new plan", who, strings.Join(moved, "\n- "))
}

// same reports whether both are one cluster. It may have several addresses.
func (s savedServer) same(other savedServer) bool {
	if s.UID != "" && other.UID != "" {
		return s.UID == other.UID
	}
	return s.Host == other.Host
}

// besides names a cluster so that it can be told from another one: by its address, or by its UID as well where that is the same.
func (s savedServer) besides(other savedServer) string {
	if s.Host != other.Host {
		return s.Host
	}
	return fmt.Sprintf("%s (%s)", s.Host, s.UID)
}

// moved names each object to which something else would be done now.
func (s *SavedPlan) moved(now *SavedPlan) []string {
	before, after := s.byRef(), now.byRef()
	var moved []string
	for _, step := range s.Steps {
		if current, ok := after[step.Ref]; !ok {
			moved = append(moved, fmt.Sprintf("%s was to be %s, and nothing is to be done to it now", step.Ref, pastTense[step.Op]))
		} else if difference := step.difference(current); difference != "" {
			moved = append(moved, fmt.Sprintf("%s %s", step.Ref, difference))
		}
	}
	for _, step := range now.Steps {
		if _, ok := before[step.Ref]; !ok {
			moved = append(moved, fmt.Sprintf("%s is to be %s now, and is not in the plan", step.Ref, pastTense[step.Op]))
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

// difference says what would be done otherwise to an object than was planned; nothing if all is the same.
func (s savedStep) difference(now savedStep) string {
	switch {
	case s.Op != now.Op:
		return fmt.Sprintf("was to be %s, and is to be %s now", pastTense[s.Op], pastTense[now.Op])
	case s.UID != now.UID:
		return "was replaced by another object of its name"
	case s.Digest != now.Digest && s.ResourceVersion != now.ResourceVersion:
		return "would change otherwise: it was written meanwhile"
	case s.Digest != now.Digest:
		return "would be written otherwise: its manifest is another"
	case s.Reason != now.Reason:
		return fmt.Sprintf("was to be %s because %s, and now because %s", pastTense[s.Op], s.Reason, now.Reason)
	default:
		return ""
	}
}

// pastTense are the operations in the words of a plan.
var pastTense = map[plan.Op]string{
	plan.Create: "created", plan.Update: "configured", plan.Unchanged: "left unchanged", plan.Delete: "pruned",
	plan.Orphan: "orphaned", plan.Keep: "kept", plan.Skip: "skipped",
}
