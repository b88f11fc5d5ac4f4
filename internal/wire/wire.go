// Package wire reads the JSON of API servers: objects, pages of lists, and the events of watches.
//
// It gives what the library of Kubernetes gives, in one pass where that needs up to six. Texts that objects have in common are
// kept once, and who owns which field of an object, half of many, can be passed over.
package wire

import (
	"fmt"
	"sync"
)

// Form says how much of objects is read.
type Form int

// The forms. A lean object lacks metadata.managedFields.
const (
	Whole Form = iota
	Lean
)

// Object reads one object. Whole numbers that fit are int64, all others float64.
func Object(data []byte, form Form) (map[string]any, error) {
	p := start(data, form)
	defer p.end()
	object, err := p.only(anObject)
	fields, ok := object.(map[string]any)
	if err == nil && !ok {
		err = fmt.Errorf("JSON: no object, but %.20q", data)
	}
	return fields, err
}

// List reads a page of a list: its items, and what there is beside them. Items that are no objects are an error.
func List(data []byte, form Form) (head map[string]any, items []map[string]any, err error) {
	p := start(data, form)
	defer p.end()
	list, err := p.only(aList)
	if err != nil {
		return nil, nil, err
	}
	head, ok := list.(map[string]any)
	if !ok {
		return nil, nil, fmt.Errorf("JSON: no list, but %.20q", data)
	}
	given, _ := head["items"].([]any)
	delete(head, "items")
	items = make([]map[string]any, len(given))
	for i := range given {
		if items[i], ok = given[i].(map[string]any); !ok {
			return nil, nil, fmt.Errorf("JSON: item %d of the list is no object", i)
		}
	}
	return head, items, nil
}

// Event takes an event of a watch apart: what happened, and the object as text, which is a part of the data.
func Event(data []byte) (kind string, object []byte, err error) {
	p := start(data, Whole)
	defer p.end()
	if p.peek() != '{' {
		return "", nil, p.wrong("an event")
	}
	err = p.members(func(key string) (err error) {
		from := p.at
		if key != "type" {
			if err = p.skip(); err == nil && key == "object" {
				object = data[from:p.at]
			}
			return err
		}
		if p.peek() != '"' {
			return p.wrong("a string")
		}
		kind, _, err = p.text()
		return err
	})
	if err == nil {
		err = p.nothingMore()
	}
	return kind, object, err
}

// parsers are kept for what texts they have met.
var parsers = sync.Pool{New: func() any { return &parser{} }}

func start(data []byte, form Form) *parser {
	p := parsers.Get().(*parser)
	p.data, p.at, p.depth, p.form = data, 0, 0, form
	return p
}

func (p *parser) end() {
	p.data = nil
	parsers.Put(p)
}
