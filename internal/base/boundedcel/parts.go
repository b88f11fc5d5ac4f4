package boundedcel

import (
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
)

// The cost of values that an expression builds, beside that of their parts.
const (
	listCost = 10
	mapCost  = 30
)

// parts are the parts of an expression that have a cost.
type parts struct {
	functions []string         // that it calls
	rounds    map[int64]uint64 // cost of a round of each loop, by the number of its condition
	ranges    map[int64]bool   // of loops, by their numbers
}

// partsOf returns the parts of an expression.
func partsOf(expression *cel.Ast) parts {
	p := parts{rounds: map[int64]uint64{}, ranges: map[int64]bool{}}
	functions := map[string]bool{}
	p.visit(expression.NativeRep().Expr(), functions)
	p.functions = slices.Sorted(maps.Keys(functions))
	return p
}

// visit adds the parts of an expression, and returns the cost of evaluating all of them once.
func (p *parts) visit(e ast.Expr, functions map[string]bool) uint64 {
	cost := uint64(1)
	add := func(more ...ast.Expr) {
		for _, each := range more {
			cost += p.visit(each, functions)
		}
	}
	switch e.Kind() {
	case ast.SelectKind:
		add(e.AsSelect().Operand())
	case ast.CallKind:
		call := e.AsCall()
		functions[call.FunctionName()] = true
		if call.IsMemberFunction() {
			add(call.Target())
		}
		add(call.Args()...)
	case ast.ListKind:
		cost += listCost
		add(e.AsList().Elements()...)
	case ast.MapKind:
		cost += mapCost
		for _, entry := range e.AsMap().Entries() {
			add(entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
	case ast.StructKind:
		cost += mapCost
		for _, field := range e.AsStruct().Fields() {
			add(field.AsStructField().Value())
		}
	case ast.ComprehensionKind:
		loop := e.AsComprehension()
		round := 1 + p.visit(loop.LoopCondition(), functions) + p.visit(loop.LoopStep(), functions)
		p.rounds[loop.LoopCondition().ID()] = round
		cost += round
		switch loop.IterRange().Kind() {
		case ast.ListKind, ast.MapKind: // the cost of building it is that of the loop's start too
		default:
			p.ranges[loop.IterRange().ID()] = true
		}
		add(loop.IterRange(), loop.AccuInit(), loop.Result())
	}
	return cost
}
