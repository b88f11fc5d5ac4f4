package lastapplied

import (
	"strconv"
	"strings"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
)

// operation is one step from one object to another, in the form that is hashed: the fields in this
// order, without empty ones.
type operation struct {
	Type   string `yaml:"type"`
	Path   string `yaml:"path"`
	Value  *any   `yaml:"value,omitempty"`
	Absent bool   `yaml:"absent,omitempty"`
}

// difference returns the operations that lead from one object to another. Each is preceded by a
// test of the former value.
func difference(left, right map[string]any) []operation {
	ops := []operation{}
	var list string // the list from which items are removed, and the index of the first one
	var first int
	jsonvalue.Walk(left, right, jsonvalue.Options{}, func(d jsonvalue.Difference) {
		old, new := d.Old, d.New
		last := d.Path[len(d.Path)-1]
		parent := escaped(d.Path[:len(d.Path)-1])
		path := parent + "/" + escapedStep(last)
		test := operation{Type: "test", Path: path, Value: &old}
		switch {
		case !d.InOld:
			added := path + "?"
			if last.Kind == jsonvalue.ListIndex {
				added = parent + "/-"
			}
			ops = append(ops, operation{Type: "test", Path: path, Absent: true},
				operation{Type: "replace", Path: added, Value: &new})
		case !d.InNew && last.Kind == jsonvalue.ListIndex:
			if list != parent {
				list, first = parent, last.Index
			}
			test.Path = parent + "/" + strconv.Itoa(first)
			ops = append(ops, test, operation{Type: "remove", Path: test.Path})
		case !d.InNew:
			ops = append(ops, test, operation{Type: "remove", Path: path})
		default:
			ops = append(ops, test, operation{Type: "replace", Path: path, Value: &new})
		}
	})
	return ops
}

var escaper = strings.NewReplacer("~", "~0", "/", "~1", ":", "~7")

// escaped returns a path with a slash before each step.
func escaped(path jsonvalue.Path) string {
	var b strings.Builder
	for _, step := range path {
		b.WriteString("/" + escapedStep(step))
	}
	return b.String()
}

func escapedStep(step jsonvalue.Step) string {
	if step.Kind == jsonvalue.ListIndex {
		return strconv.Itoa(step.Index)
	}
	return escaper.Replace(step.Key)
}
