package lastapplied

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// operation is one step from one object to another, in the form that is hashed: fields in this order, empty ones left out.
type operation struct {
	Type   string `yaml:"type"`
	Path   string `yaml:"path"`
	Value  *any   `yaml:"value,omitempty"`
	Absent bool   `yaml:"absent,omitempty"`
}

// differ walks two values and collects the operations that lead from the left one to the right one.
type differ struct {
	path []string // escaped
	ops  []operation
}

// difference gives the operations that lead from one object to another. Each is preceded by a test of what was there.
func difference(left, right map[string]any) []operation {
	d := differ{ops: []operation{}}
	d.fields(left, right)
	return d.ops
}

func (d *differ) value(left, right any) {
	switch l := left.(type) {
	case map[string]any:
		if r, ok := right.(map[string]any); ok {
			d.fields(l, r)
			return
		}
	case []any:
		if r, ok := right.([]any); ok {
			d.items(l, r)
			return
		}
	default:
		if reflect.DeepEqual(number(left), number(right)) {
			return
		}
	}
	d.ops = append(d.ops, d.test("", left), operation{Type: "replace", Path: d.at(""), Value: &right})
}

func (d *differ) fields(left, right map[string]any) {
	keys := slices.AppendSeq(make([]string, 0, len(left)), maps.Keys(left))
	for key := range right {
		if _, both := left[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		name := escaper.Replace(key)
		l, inLeft := left[key]
		r, inRight := right[key]
		switch {
		case inLeft && inRight:
			d.path = append(d.path, name)
			d.value(l, r)
			d.path = d.path[:len(d.path)-1]
		case inLeft:
			d.remove(name, l)
		default:
			d.put(name, name+"?", r)
		}
	}
}

// items compares lists place by place. The place of what is removed stays that of the first surplus item.
func (d *differ) items(left, right []any) {
	both := min(len(left), len(right))
	for i := range both {
		d.path = append(d.path, strconv.Itoa(i))
		d.value(left[i], right[i])
		d.path = d.path[:len(d.path)-1]
	}
	for _, item := range left[both:] {
		d.remove(strconv.Itoa(both), item)
	}
	for i, item := range right[both:] {
		d.put(strconv.Itoa(both+i), "-", item)
	}
}

func (d *differ) test(name string, value any) operation {
	return operation{Type: "test", Path: d.at(name), Value: &value}
}

func (d *differ) remove(name string, value any) {
	d.ops = append(d.ops, d.test(name, value), operation{Type: "remove", Path: d.at(name)})
}

// put adds a value at a place that is empty.
func (d *differ) put(empty, at string, value any) {
	d.ops = append(d.ops, operation{Type: "test", Path: d.at(empty), Absent: true},
		operation{Type: "replace", Path: d.at(at), Value: &value})
}

var escaper = strings.NewReplacer("~", "~0", "/", "~1", ":", "~7")

// at is the path of the current place, or of a name below it.
func (d *differ) at(name string) string {
	path := d.path
	if name != "" {
		path = append(path, name)
	}
	return "/" + strings.Join(path, "/")
}

// number makes whole numbers equal whatever their type.
func number(value any) any {
	f, ok := value.(float64)
	switch {
	case !ok || f != math.Trunc(f):
		return value
	case f >= math.MinInt64 && f < math.MaxInt64:
		return int64(f)
	case f >= 0 && f < math.MaxUint64:
		return uint64(f)
	}
	return value
}
