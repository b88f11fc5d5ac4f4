package boundedcel

import (
	"regexp/syntax"
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// bytesPerCost is how many bytes of a text cost 1.
const bytesPerCost = 10

// shallow are the functions that look at no values in lists and maps, except that lists are added.
var shallow = map[string]bool{
	operators.Add: true, operators.Subtract: true, operators.Multiply: true, operators.Divide: true,
	operators.Modulo: true, operators.Negate: true, operators.LogicalNot: true,
	operators.Less: true, operators.LessEquals: true, operators.Greater: true,
	operators.GreaterEquals: true, operators.NotStrictlyFalse: true, operators.Index: true,
	operators.OptIndex: true, operators.OptSelect: true, overloads.Size: true,
	"dyn": true, "type": true, "first": true, "last": true,
	"optional.of": true, "optional.ofNonZeroValue": true, "optional.none": true,
	"hasValue": true, "value": true, "or": true, "orValue": true,
}

// addCall adds the cost of a call before it is made: about how many values and tens of bytes it
// reads and returns. Above the limit it ends the evaluation.
func (m *meter) addCall(name string, args ...ref.Val) {
	m.cost++
	switch {
	case shallow[name]:
		for _, arg := range args {
			m.addText(arg)
		}
		if name == operators.Add && areLists(args...) {
			m.cost += sizeOf(args, 0) + sizeOf(args, 1) // all values are copied
		}
	case name == operators.Equals, name == operators.NotEquals: // up to the first difference
		left := m.rest()
		left.addValue(args[0])
		right := m.rest()
		right.addValue(args[1])
		m.add(min(left.cost, right.cost), 1, 1)
	case name == "condition": // of an object
		m.addValue(fieldOf(args[0], "status", "conditions"))
	case name == operators.In && isMap(args[1]):
		m.addValue(args[0])
	default:
		read := m.rest()
		for _, arg := range args {
			read.addValue(arg)
		}
		m.add(read.cost, 1, 1)
		if name == "distinct" { // each value is compared with all before it
			m.add(sizeOf(args, 0), read.cost, bytesPerCost)
		} else if name == "compact" { // it returns copies of maps and lists
			m.add(read.cost, 3, 1)
		}
		m.addProduct(name, args)
	}
	m.check()
}

// addProduct adds the cost of functions that read or return more than their arguments.
func (m *meter) addProduct(name string, args []ref.Val) {
	switch name {
	case "replace":
		old, text := textOf(args, 1), textOf(args, 0)
		m.add(uint64(strings.Count(text, old)), uint64(len(textOf(args, 2))), bytesPerCost)
	case "join":
		m.add(sizeOf(args, 0), uint64(len(textOf(args, 1))), bytesPerCost)
	case "split": // a value for each part
		m.add(uint64(len(textOf(args, 0))), 1, 1)
	case "lists.range":
		if n, ok := args[0].(types.Int); ok && n > 0 {
			m.add(uint64(n), 1, 1)
		}
	case "indexOf", "lastIndexOf", overloads.Contains:
		m.add(uint64(len(textOf(args, 0))), uint64(len(textOf(args, 1))), bytesPerCost*bytesPerCost)
	case overloads.Matches:
		steps := stepsOf(textOf(args, 1))
		if m.add(steps, 1, 1); steps > maxSteps {
			m.cost = m.limit + 1
		}
		m.add(uint64(len(textOf(args, 0))), steps, 4*bytesPerCost)
	}
}

// start adds the cost of starting a loop over a value, and returns the value. The library copies
// the keys of a map then; values of a list are read in rounds.
func (m *meter) start(value ref.Val) ref.Val {
	if isMap(value) {
		m.cost += sizeOf([]ref.Val{value}, 0)
		m.check()
	}
	return value
}

// meter adds up the cost of an evaluation.
type meter struct{ cost, limit uint64 }

// check ends the evaluation if it has cost more than it may. The library takes the panic for an
// error that no part of the expression handles.
func (m *meter) check() {
	if m.cost > m.limit {
		panic(interpreter.EvalCancelledError{
			Cause: interpreter.CostLimitExceeded, Message: "it takes too much time or memory",
		})
	}
}

// rest returns a meter for what may be added.
func (m *meter) rest() *meter { return &meter{limit: m.limit - min(m.cost, m.limit)} }

// add adds a product that is divided by a number.
func (m *meter) add(a, b, by uint64) {
	if b != 0 && a/by > m.limit/b {
		m.cost = m.limit + 1
		return
	}
	m.cost += a * b / by
}

// addText adds the length of a text.
func (m *meter) addText(value ref.Val) {
	switch v := value.(type) {
	case types.String:
		m.cost += uint64(len(v)) / bytesPerCost
	case types.Bytes:
		m.cost += uint64(len(v)) / bytesPerCost
	}
}

// addValue adds a value with all values in it, each time that one occurs. It stops at the limit.
func (m *meter) addValue(value ref.Val) {
	if m.cost++; m.cost > m.limit {
		return
	}
	m.addText(value)
	switch v := value.(type) {
	case *types.Optional:
		if v.HasValue() {
			m.addValue(v.GetValue())
		}
	case traits.Lister:
		for all := v.Iterator(); m.cost <= m.limit && all.HasNext() == types.True; {
			m.addValue(all.Next())
		}
	case traits.Mapper:
		for keys := v.Iterator(); m.cost <= m.limit && keys.HasNext() == types.True; {
			key := keys.Next()
			m.addValue(key)
			m.addValue(v.Get(key))
		}
	}
}

// areLists reports whether values are lists that do not change. The result of a loop does: the
// library appends to it.
func areLists(values ...ref.Val) bool {
	for _, value := range values {
		if _, changes := value.(traits.MutableLister); changes {
			return false
		}
		if _, ok := value.(traits.Lister); !ok {
			return false
		}
	}
	return true
}

// joined returns a list of the values of two lists. The library's sum of lists refers to both: one
// that was added up of many takes long to read, and all its values are copied where it is read.
func joined(a, b traits.Lister) ref.Val {
	values := make([]ref.Val, 0, sizeOf([]ref.Val{a, b}, 0)+sizeOf([]ref.Val{a, b}, 1))
	for _, list := range []traits.Lister{a, b} {
		for all := list.Iterator(); all.HasNext() == types.True; {
			values = append(values, all.Next())
		}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, values)
}

// isMap reports whether a value is a map, in which a key is looked up.
func isMap(value ref.Val) bool {
	_, ok := value.(traits.Mapper)
	return ok
}

// fieldOf returns a field of a value, by the names on the way to it; nil if there is none.
func fieldOf(value ref.Val, names ...string) ref.Val {
	for _, name := range names {
		fields, ok := value.(traits.Mapper)
		if !ok {
			return nil
		}
		value, _ = fields.Find(types.String(name))
	}
	return value
}

// textOf returns an argument that is a text; empty if there is none.
func textOf(args []ref.Val, at int) string {
	if at >= len(args) {
		return ""
	}
	text, _ := args[at].(types.String)
	return string(text)
}

// sizeOf returns the number of values in an argument.
func sizeOf(args []ref.Val, at int) uint64 {
	if sizer, ok := args[at].(traits.Sizer); ok {
		if size, ok := sizer.Size().(types.Int); ok && size > 0 {
			return uint64(size)
		}
	}
	return 0
}

// maxPattern limits the bytes of a regular expression, and maxSteps the steps that it is compiled
// to: classes and repetitions make more of a few bytes.
const (
	maxPattern = 4096
	maxSteps   = 10_000
)

// stepsOf returns about how many steps a regular expression is compiled to, without compiling it;
// one above maxSteps if it is too long.
func stepsOf(pattern string) uint64 {
	if len(pattern) > maxPattern {
		return maxSteps + 1
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0 // the call reports it
	}
	return steps(parsed)
}

func steps(re *syntax.Regexp) uint64 {
	total := 1 + uint64(len(re.Rune))
	for _, sub := range re.Sub {
		total += steps(sub)
	}
	if re.Op == syntax.OpRepeat {
		total *= uint64(max(1, re.Min, re.Max))
	}
	return total
}
