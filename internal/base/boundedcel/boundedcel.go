// Package boundedcel evaluates CEL expressions of others: an evaluation ends when it has taken too
// much time or memory.
//
// The library counts the cost of a call after the call, takes most functions for cheap, counts no
// values in values, and takes quadratic time to count the steps of a loop. Here a call has its cost
// before it is made, in proportion to what it reads and to what it returns, and a round of a loop
// has that of its text. In goes an expression, out comes its value.
package boundedcel

import (
	"errors"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// maxNodes limits the parts of an expression. They are compiled to about a kilobyte each, and the
// library checks their types in a time that grows with the square of their number.
const maxNodes = 2_000

// Env is an environment whose programs have bounds. It may be used concurrently.
type Env struct {
	*cel.Env
	limit    uint64
	bindings map[string][]*functions.Overload // by function
}

// NewEnv returns an environment. limit is the highest cost of one evaluation: each part of the
// expression costs about 1 for each evaluation, and so do ten bytes of text and each value
// that a function reads or returns. A million takes about 0.1 s and less than 200 MB.
func NewEnv(limit uint64, options ...cel.EnvOption) (*Env, error) {
	options = append([]cel.EnvOption{cel.ExpressionNodeLimit(maxNodes)}, options...)
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, err
	}
	e := &Env{Env: env, limit: limit, bindings: map[string][]*functions.Overload{}}
	for name, declared := range env.Functions() {
		if e.bindings[name], err = declared.Bindings(); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// Program is an expression that is ready to be evaluated. It may be used concurrently.
type Program struct {
	env   *Env
	ast   *cel.Ast
	parts parts
	plans sync.Pool // of *plan: each is used by one evaluation at a time
}

// plan is a program with the meter that its functions and loops use.
type plan struct {
	cel.Program
	meter
}

// Program returns a program for a checked expression.
func (e *Env) Program(ast *cel.Ast) (*Program, error) {
	p := &Program{env: e, ast: ast, parts: partsOf(ast)}
	first, err := p.plan()
	if err != nil {
		return nil, err
	}
	p.plans.Put(first)
	return p, nil
}

// Eval returns the value of the expression for values of its variables. An evaluation that takes
// too much is an error.
func (p *Program) Eval(variables map[string]any) (ref.Val, error) {
	run, _ := p.plans.Get().(*plan)
	if run == nil {
		var err error
		if run, err = p.plan(); err != nil {
			return nil, err
		}
	}
	defer p.plans.Put(run)
	run.cost = 0
	value, _, err := run.Eval(variables)
	return value, err
}

// plan returns a new plan of the program.
func (p *Program) plan() (*plan, error) {
	run := &plan{meter: meter{limit: p.env.limit}}
	options := []cel.ProgramOption{
		cel.EvalOptions(cel.OptOptimize),
		cel.CustomDecorator(func(i interpreter.Interpretable) (interpreter.Interpretable, error) {
			return run.decorate(i, p.parts)
		}),
	}
	for _, name := range p.parts.functions {
		for _, overload := range p.env.bindings[name] {
			//lint:ignore SA1019 nothing else replaces a function of a program that was compiled
			options = append(options, cel.Functions(run.count(name, overload)))
		}
	}
	var err error
	run.Program, err = p.env.Env.Program(p.ast, options...)
	return run, err
}

// count returns a function whose calls have a cost.
func (m *meter) count(name string, overload *functions.Overload) *functions.Overload {
	counted := *overload
	if unary := overload.Unary; unary != nil {
		counted.Unary = func(value ref.Val) ref.Val {
			m.addCall(name, value)
			return unary(value)
		}
	}
	if binary := overload.Binary; binary != nil {
		counted.Binary = func(a, b ref.Val) ref.Val {
			m.addCall(name, a, b)
			if name == operators.Add && areLists(a, b) {
				return joined(a.(traits.Lister), b.(traits.Lister))
			}
			return binary(a, b)
		}
	}
	if function := overload.Function; function != nil {
		counted.Function = func(args ...ref.Val) ref.Val {
			m.addCall(name, args...)
			return function(args...)
		}
	}
	return &counted
}

// decorate returns the step of a plan with its cost, if it has one: comparisons, which the library
// does not look up as functions, and ranges and conditions of loops. It refuses regular expressions
// that are too large before the library compiles them.
func (m *meter) decorate(
	step interpreter.Interpretable, parts parts,
) (interpreter.Interpretable, error) {
	if cost, ok := parts.rounds[step.ID()]; ok {
		return &round{Interpretable: step, meter: m, cost: cost}, nil
	}
	if parts.ranges[step.ID()] {
		step = m.loopOver(step)
	}
	call, ok := step.(interpreter.InterpretableCall)
	if !ok {
		return step, nil
	}
	switch args := call.Args(); call.Function() {
	case operators.Equals, operators.NotEquals:
		return m.compare(call), nil
	case overloads.Matches:
		pattern, ok := args[len(args)-1].(interpreter.InterpretableConst)
		if ok && stepsOf(textOf([]ref.Val{pattern.Value()}, 0)) > maxSteps {
			return nil, errors.New("the regular expression is too large")
		}
	}
	return step, nil
}

// compare returns a comparison with a cost.
func (m *meter) compare(call interpreter.InterpretableCall) interpreter.Interpretable {
	name := call.Function()
	return interpreter.NewCall(call.ID(), name, call.OverloadID(), call.Args(),
		func(args ...ref.Val) ref.Val {
			m.addCall(name, args...)
			equal := types.Equal(args[0], args[1])
			if result, ok := equal.(types.Bool); ok && name == operators.NotEquals {
				return !result
			}
			return equal
		})
}

// round is the condition of a loop, which is evaluated before each round.
type round struct {
	interpreter.Interpretable
	meter *meter
	cost  uint64
}

// Eval implements interpreter.Interpretable.
func (r *round) Eval(variables interpreter.Activation) ref.Val {
	r.meter.add(r.cost, 1, 1)
	r.meter.check()
	return r.Interpretable.Eval(variables)
}

// loopOver returns the range of a loop with the cost of the start of the loop.
func (m *meter) loopOver(step interpreter.Interpretable) interpreter.Interpretable {
	if field, ok := step.(interpreter.InterpretableAttribute); ok {
		return &fieldRange{InterpretableAttribute: field, meter: m}
	}
	return &loopRange{Interpretable: step, meter: m}
}

// loopRange is the range of a loop.
type loopRange struct {
	interpreter.Interpretable
	meter *meter
}

// Eval implements interpreter.Interpretable.
func (r *loopRange) Eval(variables interpreter.Activation) ref.Val {
	return r.meter.start(r.Interpretable.Eval(variables))
}

// fieldRange is a range that is a variable or a field, which the library extends by fields of it.
type fieldRange struct {
	interpreter.InterpretableAttribute
	meter *meter
}

// Eval implements interpreter.Interpretable.
func (r *fieldRange) Eval(variables interpreter.Activation) ref.Val {
	return r.meter.start(r.InterpretableAttribute.Eval(variables))
}

// Exec implements interpreter.InterpretableV2.
func (r *fieldRange) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return r.meter.start(r.InterpretableAttribute.Exec(frame))
}
