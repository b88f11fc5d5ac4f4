package ready

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
)

// costLimit bounds what one evaluation may cost. It is what Kubernetes grants one validation rule, about 0.1 s.
const costLimit = 1_000_000

// newLanguage gives the CEL of rules: the object as self, of no particular type; the optional values, string and list
// functions that cel-go has; comparisons between kinds of numbers; and condition. It has no clock. Making one takes
// milliseconds.
func newLanguage() (*cel.Env, error) {
	env, err := cel.NewEnv(
		cel.Variable("self", cel.DynType),
		cel.OptionalTypes(),
		cel.CrossTypeNumericComparisons(true),
		ext.Strings(),
		ext.Lists(),
		cel.Function("condition", cel.Overload("condition_dyn_string",
			[]*cel.Type{cel.DynType, cel.StringType}, cel.MapType(cel.StringType, cel.StringType),
			cel.BinaryBinding(conditionFunction))),
	)
	if err != nil {
		return nil, fmt.Errorf("prepare the language of rules: %w", err)
	}
	return env, nil
}

// conditionFunction is condition(self, "Ready"): type, status, reason and message of the object's first condition of a
// type, each an empty string where there is none.
func conditionFunction(object, kind ref.Val) ref.Val {
	fields, ok := object.Value().(map[string]any)
	name, named := kind.Value().(string)
	if !ok || !named {
		return types.NewErr("condition wants an object and the type of a condition")
	}
	c := first(conditionsIn(fields["status"], below(fields, "metadata", "generation")), name)
	return types.NewStringStringMap(types.DefaultTypeAdapter, map[string]string{
		"type": c.Type, "status": c.Status, "reason": c.Reason, "message": c.Message,
	})
}

// expression is one CEL expression of a rule.
type expression struct {
	field string // the key that it stands under
	text  string
	line  int // of the file
	cel.Program
}

// compile makes the expression ready to be evaluated. It must give values of a type, or of none that is known before.
func (e *expression) compile(env *cel.Env, want *cel.Type) error {
	ast, issues := env.Compile(e.text)
	if issues.Err() != nil {
		return e.complain(issues)
	}
	if got := ast.OutputType(); !got.IsExactType(want) && !got.IsExactType(cel.DynType) {
		return fmt.Errorf("%s must give a %s, not %s", e.field, want, cel.FormatCELType(got))
	}
	program, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(costLimit))
	if err != nil {
		return fmt.Errorf("%s: %w", e.field, err)
	}
	e.Program = program
	return nil
}

// complain words what the compiler found, with the place under each finding.
func (e *expression) complain(issues *cel.Issues) error {
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

// holds evaluates an expression that gives a bool.
func (e *expression) holds(self map[string]any) (bool, error) {
	value, _, err := e.Eval(map[string]any{"self": self})
	if err != nil {
		return false, fmt.Errorf("%s: %w", e.field, err)
	}
	held, ok := value.(types.Bool)
	if !ok {
		return false, fmt.Errorf("%s gave %s, not bool", e.field, value.Type().TypeName())
	}
	return bool(held), nil
}

// says evaluates an expression that gives a string. It is empty where there is no expression or no answer.
func (e *expression) says(self map[string]any) string {
	if e == nil {
		return ""
	}
	value, _, err := e.Eval(map[string]any{"self": self})
	if said, ok := value.(types.String); ok && err == nil {
		return string(said)
	}
	return ""
}
