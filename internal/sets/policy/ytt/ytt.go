// Package ytt evaluates the part of ytt that kapp's rules are written in: overlays that change one
// object, and functions that report whether an object is done. Both are written in ytt's variant
// of Starlark, in which "end" closes a block. An overlay is YAML with Starlark and annotations in
// its comments.
//
// Only package config imports it, and only through ApplyOverlay and IsDone. Data goes in and comes
// out in the types of unstructured objects. The package reads no files and no network, and print
// prints nothing. A construct that is not supported is an error with its name and line;
// docs/ytt.md lists them. A script that does not end is an error too.
package ytt

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"
)

// maxSteps limits the steps of a script, which takes about a second.
const maxSteps = 20_000_000

// The names of the texts in errors, which are their keys in the configuration.
const (
	overlayFile = "overlay.yml"
	scriptFile  = "resource.star"
)

// ApplyOverlay returns the result of applying an overlay to one object, which does not change. The
// overlay reads values as data.values. Documents without #@overlay/match have no effect. It is an
// error if other than one object results.
func ApplyOverlay(resource map[string]any, overlay string,
	values map[string]any) (out map[string]any, err error) {
	defer recoverPanic(&err)
	p, err := compileCached(overlayFile, overlay, templateSources)
	if err != nil {
		return nil, err
	}
	copied, err := copyData(resource)
	if err != nil {
		return nil, fmt.Errorf("the resource: %w", err)
	}
	thread := p.thread(values)
	b := newBuilder(p)
	thread.SetLocal(builderKey, b)
	if _, err := p.starlark.Init(thread, predeclared); err != nil {
		return nil, p.describeError(err)
	}
	docs := []any{copied}
	o := &applier{thread: thread, program: p}
	for _, doc := range b.documents().items {
		if _, ok := doc.findAnnotation(annMatch); !ok {
			continue
		}
		defaults, err := childDefaults(doc, expectation{})
		if err == nil {
			docs, err = o.applyItem(docs, doc, defaults, document)
		}
		if err != nil {
			return nil, p.describeError(err)
		}
	}
	if len(docs) != 1 {
		return nil, fmt.Errorf("Expected one resource to be returned from ytt, but was %d", len(docs))
	}
	out, ok := docs[0].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: the overlay makes %s of the resource", p.file, typeOf(docs[0]))
	}
	return out, nil
}

// Verdict is the result of a wait rule for an object.
type Verdict struct {
	Done, Successful, UnblockChanges bool
	Message                          string
}

// IsDone calls the function is_done of a script with one object. The function returns a dict with
// done and successful, and optionally message and unblockChanges. The script reads values as
// data.values.
func IsDone(resource map[string]any, script string, values map[string]any) (v Verdict, err error) {
	defer recoverPanic(&err)
	p, err := compileCached(scriptFile, script, scriptSources)
	if err != nil {
		return v, err
	}
	thread := p.thread(values)
	globals, err := p.starlark.Init(thread, predeclared)
	if err != nil {
		return v, p.describeError(err)
	}
	f, ok := globals["is_done"].(starlark.Callable)
	if !ok {
		return v, fmt.Errorf("%s: there is no function is_done(resource)", p.file)
	}
	result, err := starlark.Call(thread, f, starlark.Tuple{newMap(typeStruct, resource)}, nil)
	if err != nil {
		return v, p.describeError(err)
	}
	if v, err = readVerdict(result); err != nil {
		return v, fmt.Errorf("%s: what is_done returns: %w", p.file, err)
	}
	return v, nil
}

// readVerdict reads the value that is_done returned. Like kapp, it takes keys in any case and
// ignores unknown ones.
func readVerdict(result starlark.Value) (v Verdict, err error) {
	value, err := fromStarlark(result)
	if err != nil {
		return v, err
	}
	if value == nil {
		return v, nil
	}
	said, ok := plainData(value).(map[string]any)
	if !ok {
		return v, fmt.Errorf("a dict is expected, with done, successful and message, but here is %s",
			typeOf(value))
	}
	for key, value := range said {
		for name, into := range map[string]*bool{"done": &v.Done, "successful": &v.Successful,
			"unblockChanges": &v.UnblockChanges} {
			if strings.EqualFold(key, name) && value != nil {
				if *into, ok = value.(bool); !ok {
					return v, fmt.Errorf("%s has to be True or False, but is %s", key, typeOf(value))
				}
			}
		}
		if strings.EqualFold(key, "message") && value != nil {
			if v.Message, ok = value.(string); !ok {
				return v, fmt.Errorf("%s has to be a string, but is %s", key, typeOf(value))
			}
		}
	}
	return v, nil
}

// thread returns a thread for a program, with its modules.
func (p *program) thread(values map[string]any) *starlark.Thread {
	thread := &starlark.Thread{
		Name:  p.file,
		Print: func(*starlark.Thread, string) {},
		Load: func(_ *starlark.Thread, name string) (starlark.StringDict, error) {
			return load(name, values)
		},
	}
	thread.SetMaxExecutionSteps(maxSteps)
	return thread
}

// recoverPanic stores a panic as an error, so that no script ends the program.
func recoverPanic(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("evaluating failed: %v", cause)
	}
}

var errEndless = errors.New("the script ran more than 20 million steps: does a loop not end?")
