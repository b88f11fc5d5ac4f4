package ytt

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
)

// builder builds the nodes of a template while its script runs. Each call of a function that
// contains YAML has a stack of its own.
type builder struct {
	program     *program
	stacks      [][]frame
	annotations map[int][]annotation // directives of the part that is opened next
	texts       []*strings.Builder   // templated texts that were begun
}

// frame is a node whose children may follow.
type frame struct {
	part *part // nil for the list of documents
	item *item
}

func newBuilder(p *program) *builder {
	docs := &item{value: &nodes{kind: stream}}
	return &builder{program: p, stacks: [][]frame{{{item: docs}}}, annotations: map[int][]annotation{}}
}

// documents returns the documents that the script has built.
func (b *builder) documents() *nodes { return b.stacks[0][0].item.value.(*nodes) }

// builderKey is the key of the builder in a thread.
const builderKey = "ytt.builder"

func builderOf(thread *starlark.Thread) (*builder, error) {
	b, ok := thread.Local(builderKey).(*builder)
	if !ok {
		return nil, errors.New("there is no YAML here")
	}
	return b, nil
}

var predeclared = starlark.StringDict{
	callAnnotate: starlark.NewBuiltin(callAnnotate, annotateCall),
	callOpen:     starlark.NewBuiltin(callOpen, openCall),
	callPut:      starlark.NewBuiltin(callPut, putCall),
	callWrap:     starlark.NewBuiltin(callWrap, wrapCall),

	callTextBegin: starlark.NewBuiltin(callTextBegin, beginTextCall),
	callText:      starlark.NewBuiltin(callText, addTextCall),
	callTextEnd:   starlark.NewBuiltin(callTextEnd, endTextCall),
}

// annotateCall keeps an annotation. The arguments are the part, the line and the name, and then
// those of the annotation.
func annotateCall(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	b, err := builderOf(thread)
	if err != nil {
		return nil, err
	}
	id, _ := starlark.AsInt32(args[0])
	line, _ := starlark.AsInt32(args[1])
	name, _ := starlark.AsString(args[2])
	if len(args) > 3 {
		return nil, fmt.Errorf("#@%s takes arguments by name: %v", name, annotationArguments[name])
	}
	n := annotation{name: name, line: line, args: map[string]starlark.Value{}}
	for _, pair := range kwargs {
		key, _ := starlark.AsString(pair[0])
		if !slices.Contains(annotationArguments[name], key) {
			return nil, fmt.Errorf("#@%s has no argument %s; it takes %v", name, key,
				annotationArguments[name])
		}
		n.args[key] = pair[1]
	}
	b.annotations[id] = append(b.annotations[id], n)
	return starlark.None, nil
}

// openCall opens a node. The arguments are the part, and the key if it is computed.
func openCall(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
	_ []starlark.Tuple) (starlark.Value, error) {
	b, err := builderOf(thread)
	if err != nil {
		return nil, err
	}
	id, _ := starlark.AsInt32(args[0])
	p := b.program.parts[id]
	key := p.key
	if len(args) > 1 {
		key, _ = starlark.AsString(args[1])
	}
	return starlark.None, b.open(p, key)
}

// open begins a node inside the last node of its parent.
func (b *builder) open(p *part, key string) error {
	floor := &b.stacks[len(b.stacks)-1]
	at := len(*floor) - 1
	for at >= 0 && (*floor)[at].part != p.parent {
		at--
	}
	if at < 0 {
		return fmt.Errorf("this %s stands in no node that was begun: a block holds whole nodes, and "+
			"those of a function are of one level", p.kind)
	}
	*floor = (*floor)[:at+1]
	into, ok := (*floor)[at].item.value.(*nodes)
	if !ok {
		return fmt.Errorf("this %s stands below a single value", p.kind)
	}
	it := &item{key: key, line: p.line, annotations: b.annotations[p.id], value: p.scalar}
	delete(b.annotations, p.id)
	if p.holds != scalar {
		it.value = &nodes{kind: p.holds}
	}
	if err := into.add(it); err != nil {
		return err
	}
	*floor = append(*floor, frame{p, it})
	return nil
}

// add appends an item. A key may occur twice in a map only with the annotation for that.
func (n *nodes) add(it *item) error {
	if n.kind == mapping {
		there := slices.IndexFunc(n.items, func(other *item) bool { return other.key == it.key })
		if there >= 0 {
			if _, ok := it.findAnnotation(annOverride); !ok {
				return fmt.Errorf("the key %q is already in this map; #@%s lets the later one take its place",
					it.key, annOverride)
			}
			n.items = slices.Delete(n.items, there, there+1)
		}
	}
	n.items = append(n.items, it)
	return nil
}

func putCall(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
	_ []starlark.Tuple) (starlark.Value, error) {
	b, err := builderOf(thread)
	if err != nil {
		return nil, err
	}
	floor := b.stacks[len(b.stacks)-1]
	top, above := floor[len(floor)-1], floor[len(floor)-2]
	if instead, ok := args[1].(replacement); ok {
		return starlark.None, instead.insert(above.item.value.(*nodes), top.item.line)
	}
	value, err := fromStarlark(args[1])
	if err != nil {
		return nil, err
	}
	if docs, ok := value.(*nodes); ok && docs.kind == stream {
		if len(docs.items) != 1 {
			return nil, fmt.Errorf("%d documents cannot be one value", len(docs.items))
		}
		value = docs.items[0].value
	}
	top.item.value = toNodes(value, top.item.line)
	return starlark.None, nil
}

// replacement is the result of template.replace: its items replace the item that has it as its
// value.
type replacement struct {
	starlark.Value
	nodes *nodes
}

func (r replacement) insert(into *nodes, line int) error {
	if r.nodes.kind != into.kind {
		return fmt.Errorf("template.replace puts the items of a %s into a %s", r.nodes.kind, into.kind)
	}
	into.items = into.items[:len(into.items)-1]
	for _, it := range toNodes(r.nodes, line).(*nodes).items {
		if err := into.add(it); err != nil {
			return err
		}
	}
	return nil
}

// wrapCall wraps a function that contains YAML. The new function returns that YAML unless the
// function returns a value. The second argument is the first node in the function.
func wrapCall(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
	_ []starlark.Tuple) (starlark.Value, error) {
	f := args[0].(starlark.Callable)
	id, _ := starlark.AsInt32(args[1])
	return starlark.NewBuiltin(f.Name(),
		func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
			kwargs []starlark.Tuple) (starlark.Value, error) {
			b, err := builderOf(thread)
			if err != nil {
				return nil, err
			}
			base := frame{item: &item{value: &nodes{kind: stream}}}
			if first := b.program.parts[id]; first.parent != nil {
				base = frame{first.parent, &item{value: &nodes{kind: first.parent.holds}}}
			}
			depth := len(b.stacks)
			b.stacks = append(b.stacks, []frame{base})
			result, err := starlark.Call(thread, f, args, kwargs)
			b.stacks = b.stacks[:depth]
			if err != nil || result != starlark.None {
				return result, err
			}
			return fragment(base.item.value.(*nodes)), nil
		}), nil
}
