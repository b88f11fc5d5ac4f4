package kustomize

import (
	"strings"

	"sigs.k8s.io/kustomize/api/types"
)

// replace applies a replacement. Its value may be as large as the largest one below the same key,
// and makes all that holds a target larger, so that chains of replacements can double a value
// each time.
func (e *estimate) replace(r *types.Replacement, s *amount, one float64) {
	e.steps += 5 * s.objects
	value := amount{}
	switch {
	case r.SourceValue != nil:
		value = amount{bytes: float64(len(*r.SourceValue)), values: 1}
	case r.Source != nil:
		value = e.sizeAt(pathKeys(r.Source.FieldPath))
	}
	for _, target := range r.Targets {
		objects := s.objects
		if selectsOne(target.Select) {
			objects = min(one, objects)
		}
		e.steps += 20 * s.objects
		paths := target.FieldPaths
		if len(paths) == 0 {
			paths = []string{""}
		}
		for _, path := range paths {
			keys := pathKeys(path)
			added := value.times(e.fan(keys))
			s.add(added.times(objects))
			e.addTo("", e.fan(keys))
			e.steps += objects * (5*float64(len(keys)) + added.values + added.bytes/100)
			for i, key := range keys {
				if !isKey(key) {
					continue
				}
				old := e.byKey[distinct(e.byKey, key)]
				e.steps += objects * old.bytes / 100
				if i < len(keys)-1 || target.Options != nil && target.Options.Delimiter != "" {
					old.add(added)
				} else {
					old = value
				}
				e.raise(key, old)
			}
			e.largest.add(added)
		}
	}
}

// sizeAt returns the size of the largest value that a path may lead to.
func (e *estimate) sizeAt(keys []string) amount {
	for i := len(keys) - 1; i >= 0; i-- {
		if isKey(keys[i]) {
			size := e.valueOf(keys[i])
			if keys[i] == "name" {
				size.bytes = max(size.bytes, e.name)
			}
			return size
		}
	}
	return e.largest
}

// fan returns to how many fields of one object a path may lead.
func (e *estimate) fan(keys []string) float64 {
	fields := 1.0
	for i, key := range keys {
		if !isKey(key) {
			of := e.longest
			if i > 0 && isKey(keys[i-1]) {
				of = e.list[distinct(e.list, keys[i-1])]
			}
			if key == "*" || strings.HasPrefix(key, "[") {
				fields *= max(1, of)
			}
		}
	}
	return fields
}
