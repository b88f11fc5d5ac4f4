package drift

import (
	"slices"
	"strings"

	"github.com/muster-deploy/muster/internal/diff"
)

// NotStored is why a difference does not count that Options.Unstored names.
const NotStored = "the server does not store it"

// add adds a difference with its managers, unless it is a default or an earlier value of the set.
func (c *comparison) add(p place, kind Kind, was, is any) {
	f := Field{Path: p.path, Kind: kind, Was: was, Is: is, route: p.route, revert: was, seen: is,
		top: p.top, unit: p.unit, sameName: c.SameName}
	if kind == Added {
		f.revert = nil
		if was != nil { // a default of the server, which it sets again
			f.Kind = Changed
		}
	}
	if p.unit != nil {
		f.route, f.revert = p.unit.route, p.unit.want
	}
	var owners []int
	if kind != Removed || p.unit != nil {
		owners = p.owners()
	}
	for _, owner := range owners {
		f.Managers = append(f.Managers, c.managers[owner])
	}
	slices.SortStableFunc(f.Managers, func(a, b Manager) int {
		if d := b.Time.Compare(a.Time); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	isNoted := kind == Removed && c.isUnstored(desiredPath(p.route), was)
	if c.judge(&f, kind == Added) {
		if isNoted {
			f.Left = NotStored
		}
		c.hide(&f)
		c.fields = append(c.fields, f)
	}
}

// judge sets the class of a difference and whether it counts. It reports whether the difference is
// one: what the set's own manager added is a default of the server, and so is what nobody owns,
// except in a value that the server merges as a whole: all of its content is desired.
func (c *comparison) judge(f *Field, added bool) bool {
	for _, class := range []Class{Human, Deployer, Unknown} {
		at := slices.IndexFunc(f.Managers, func(m Manager) bool { return m.Class == class })
		if at >= 0 {
			f.Class = class
			m := f.Managers[at] // to the front
			f.Managers = slices.Insert(slices.Delete(f.Managers, at, at+1), 0, m)
			return true
		}
	}
	at := slices.IndexFunc(f.Managers, func(m Manager) bool { return m.Class == Controller })
	switch {
	case at >= 0:
		f.Class = Controller
		m := f.Managers[at]
		f.Managers = slices.Insert(slices.Delete(f.Managers, at, at+1), 0, m)
		if !c.IncludeControllers {
			f.Left = "left to " + m.Name
		}
		return true
	case added && (f.unit == nil || len(f.Managers) > 0):
		return false
	case len(f.Managers) == 0:
		f.Class = Unknown
		return true
	}
	f.Class = Own
	switch {
	case c.Newer:
		f.Left = "deployed by a newer revision"
	case !c.Since.IsZero() && !f.Managers[0].Time.After(c.Since):
		f.Left = "set when it was deployed, by the server or a webhook"
	}
	return true
}

// desiredPath returns the path of a desired value, as diff.Unstored writes it.
func desiredPath(route []step) (path string) {
	for _, s := range route {
		if s.item {
			path = diff.ItemOf(path, s.index)
		} else {
			path = diff.Below(path, s.field)
		}
	}
	return path
}

// isUnstored reports whether the server is known not to store a desired value, or any value in it.
func (c *comparison) isUnstored(path string, value any) bool {
	if slices.ContainsFunc(c.Unstored, func(noted string) bool { return isWithin(path, noted) }) {
		return true
	}
	isNoted := false
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if isEmpty(inner) {
				continue
			}
			if isNoted = c.isUnstored(diff.Below(path, key), inner); !isNoted {
				return false
			}
		}
	case []any:
		for i, inner := range v {
			if isNoted = c.isUnstored(diff.ItemOf(path, i), inner); !isNoted {
				return false
			}
		}
	}
	return isNoted
}

// isWithin reports whether a path leads to a value or into it.
func isWithin(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// hide removes the values of a Secret from a difference.
func (c *comparison) hide(f *Field) {
	if !c.secret && !c.Private {
		return
	}
	top := f.route[0].field
	private := top != "metadata" && top != "type" && top != "immutable" || c.Private
	if private || isDocument(f.Was) || isDocument(f.Is) {
		f.Was, f.Is, f.Hidden = nil, nil, true
	}
}

// isDocument reports whether a value may be a copy of an object: JSON, several lines, or no text.
func isDocument(value any) bool {
	text, ok := value.(string)
	text = strings.TrimSpace(text)
	return value != nil && !ok || strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") ||
		strings.Contains(text, "\n")
}
