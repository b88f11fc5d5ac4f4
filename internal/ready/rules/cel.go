package rules

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/boundedcel"
	"github.com/muster-deploy/muster/internal/ready"
)

// costLimit is the limit of one evaluation, in the unit of boundedcel. It is that of one validation
// rule in Kubernetes, which takes about 0.1 s.
const costLimit = 1_000_000

// maxText limits the bytes of a message or a reason, which are kept for each object.
const maxText = 32 << 10

// newEnv returns the CEL environment of rules: the dynamically typed object as self, cel-go's
// optional values, string and list functions, comparisons between kinds of numbers, condition and
// compact. It has no clock. The call takes milliseconds.
func newEnv() (*boundedcel.Env, error) {
	env, err := boundedcel.NewEnv(costLimit,
		cel.Variable("self", cel.DynType),
		cel.OptionalTypes(),
		cel.CrossTypeNumericComparisons(true),
		ext.Strings(),
		ext.Lists(),
		cel.Function("condition", cel.Overload("condition_dyn_string",
			[]*cel.Type{cel.DynType, cel.StringType}, cel.MapType(cel.StringType, cel.StringType),
			cel.BinaryBinding(conditionFunction))),
		cel.Function("compact", cel.Overload("compact_dyn",
			[]*cel.Type{cel.DynType}, cel.DynType, cel.UnaryBinding(compactFunction))),
	)
	if err != nil {
		return nil, fmt.Errorf("prepare the language of rules: %w", err)
	}
	return env, nil
}

// conditionFunction implements condition(self, "Ready"). It returns type, status, reason and
// message of the object's first condition of a type, or empty strings if there is none.
func conditionFunction(object, kind ref.Val) ref.Val {
	var fields map[string]any
	if _, isMap := object.(traits.Mapper); isMap { // the value of a list may be a large copy of it
		fields, _ = object.Value().(map[string]any)
	}
	name, isText := kind.(types.String)
	if fields == nil || !isText {
		return types.NewErr("condition wants an object and the type of a condition")
	}
	c := ready.ConditionOf(&unstructured.Unstructured{Object: fields}, string(name))
	return types.NewStringStringMap(types.DefaultTypeAdapter, map[string]string{
		"type": c.Type, "status": c.Status, "reason": c.Reason, "message": c.Message,
	})
}

// compactFunction implements compact(value). It returns the value without the fields of maps, at
// any depth, that are null, false, 0, empty texts, empty lists or empty maps.
func compactFunction(value ref.Val) ref.Val {
	switch v := value.(type) {
	case traits.Mapper:
		fields := map[ref.Val]ref.Val{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			field := compactFunction(v.Get(key))
			if zeroer, ok := field.(traits.Zeroer); !ok || !zeroer.IsZeroValue() {
				fields[key] = field
			}
		}
		return types.NewRefValMap(types.DefaultTypeAdapter, fields)
	case traits.Lister:
		var items []ref.Val
		for it := v.Iterator(); it.HasNext() == types.True; {
			items = append(items, compactFunction(it.Next()))
		}
		return types.NewRefValList(types.DefaultTypeAdapter, items)
	default:
		return value
	}
}

// expression is one CEL expression of a rule.
type expression struct {
	field string // key in the rule
	text  string
	line  int // of the file
	*boundedcel.Program
}

// compile compiles the expression. Its type must be want or unknown.
func (e *expression) compile(env *boundedcel.Env, want *cel.Type) error {
	ast, issues := env.Compile(e.text)
	if issues.Err() != nil {
		return e.formatIssues(issues)
	}
	if got := ast.OutputType(); !got.IsExactType(want) && !got.IsExactType(cel.DynType) {
		return fmt.Errorf("%s must return a %s, not %s", e.field, want, cel.FormatCELType(got))
	}
	program, err := env.Program(ast)
	if err != nil {
		return fmt.Errorf("%s: %w", e.field, err)
	}
	e.Program = program
	return nil
}

// formatIssues returns the compiler's findings, each with the line of text that it is about.
func (e *expression) formatIssues(issues *cel.Issues) error {
	lines := strings.Split(e.text, "\n")
	var errs []error
	for _, found := range issues.Errors() {
		line, column := found.Location.Line(), found.Location.Column()
		place := fmt.Sprintf("column %d", column+1)
		if strings.Contains(strings.TrimSpace(e.text), "\n") {
			place = fmt.Sprintf("line %d, %s", line, place)
		}
		message := strings.TrimSuffix(found.Message, " (in container '')")
		if e.field == "message" || e.field == "reason" {
			message += `; a fixed text is quoted twice, as '"text"'`
		}
		if line >= 1 && line <= len(lines) && column >= 0 {
			message += "\n    " + lines[line-1] + "\n    " + strings.Repeat(" ", column) + "^"
		}
		errs = append(errs, fmt.Errorf("%s, %s: %s", e.field, place, message))
	}
	return errors.Join(errs...)
}

// evalBool evaluates an expression that returns a bool.
func (e *expression) evalBool(self map[string]any) (bool, error) {
	value, err := e.Eval(map[string]any{"self": self})
	if err != nil {
		return false, fmt.Errorf("%s: %w", e.field, err)
	}
	result, ok := value.(types.Bool)
	if !ok {
		return false, fmt.Errorf("%s returned %s, not bool", e.field, value.Type().TypeName())
	}
	return bool(result), nil
}

// evalString evaluates an expression that returns a string, and returns up to maxText bytes of it.
// It returns "" if the expression is nil or cannot be evaluated.
func (e *expression) evalString(self map[string]any) string {
	if e == nil {
		return ""
	}
	value, err := e.Eval(map[string]any{"self": self})
	if result, ok := value.(types.String); ok && err == nil {
		if len(result) > maxText {
			return strings.ToValidUTF8(string(result[:maxText]), "") + "…"
		}
		return string(result)
	}
	return ""
}
