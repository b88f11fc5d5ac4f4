package plan

import "github.com/muster-deploy/muster/internal/managers"

// ManagerClass is what a field manager stands for.
type ManagerClass = managers.Class

// ClassOf returns the class of a field manager.
func ClassOf(manager string) ManagerClass { return managers.Builtin().Of(manager) }
