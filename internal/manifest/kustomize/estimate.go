package kustomize

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// The limits of one build. A step takes about a microsecond.
const (
	maxObjects = 20_000
	maxMemory  = 400 << 20
	maxSteps   = 40e6
)

// The steps of the library, as measured.
const (
	folderSteps    = 2000
	valueSteps     = 5     // to read and to write a value
	pairSteps      = 0.6   // to compare two objects
	referenceSteps = 7     // to compare a field that may name an object with an object
	squareSteps    = 0.012 // to compare two keys of a map
	patchSteps     = 300   // to patch an object, and for each byte of the patch:
	patchByteSteps = 0.3
	markSteps      = 15 // to read and to write the mark of a transformer
)

const (
	maxRepeatedSteps = 1e6 // the limit of a build that is repeated to find files
	markBytes        = 300 // of the mark of a transformer, about
)

// estimate computes what a build will take, in the order in which the library works.
type estimate struct {
	*census
	recipes map[visit]*recipe
	open    map[visit]bool // folders that are being added
	dir     string         // paths in errors are relative to it

	reads   float64 // of folders and files so far
	folders float64
	steps   float64
	most    float64            // objects of one kind and name
	specs   float64            // entries of configurations of transformers
	keys    map[string]bool    // of the fields that these name
	custom  float64            // such fields
	labels  float64            // the values that were added to each map of labels
	added   map[string]float64 // the values that were added to a map, by what it is in

	changes float64 // the most transformers of an object so far: each is in an annotation of it
	marks   float64 // how often such an annotation was read and written, for each transformer in it
}

// addTo counts values that are added to one map.
func (e *estimate) addTo(target string, values float64) { e.added[target] += values }

// tooMuchError reports a field that makes a build take too much.
type tooMuchError struct {
	path, field, problem string
}

func (e *tooMuchError) Error() string {
	return e.path + ": " + e.field + " " + e.problem
}

// estimate returns an error for a build that takes too much. It reports whether a second build that
// marks the objects takes little.
func (t *tree) estimate(dir string) (repeatable bool, err error) {
	rel, _, err := t.disk.resolve(dir)
	if err != nil {
		return false, nil // the build reports it
	}
	e := &estimate{
		census: t.census, recipes: t.recipes, open: map[visit]bool{}, dir: t.dir,
		keys: map[string]bool{}, added: map[string]float64{}, most: 1,
	}
	for _, n := range t.named {
		e.most = max(e.most, n)
	}
	for _, r := range t.recipes {
		for _, spec := range r.specs {
			e.keys[spec[len(spec)-1]] = true
		}
	}
	s, at := amount{}, visit{folder: rel}
	if err := e.folder(at, &s); err != nil || t.recipes[at] == nil {
		return false, err
	}
	if err := e.finish(t.recipes[at], &s); err != nil {
		return false, err
	}
	return e.isRepeatable(&s), nil
}

// mark adds what a marked build does for some transformers.
func (e *estimate) mark(transformers float64, s *amount) {
	e.changes += transformers
	e.marks += transformers * e.changes * s.objects
}

// isRepeatable reports whether a marked build of what was estimated takes little.
func (e *estimate) isRepeatable(s *amount) bool {
	marked := *s
	marked.bytes += markBytes * e.changes * s.objects
	return e.steps+markSteps*e.marks <= maxRepeatedSteps && marked.memory() <= maxMemory
}

// folder adds the objects of a folder to those that are there: for a component those of what names
// it, for others none.
func (e *estimate) folder(at visit, s *amount) error {
	r := e.recipes[at]
	if r == nil || e.open[at] {
		return nil // it does not exist, or names itself: the build reports it
	}
	e.open[at] = true
	defer delete(e.open, at)
	e.folders++
	e.steps += folderSteps
	for key := range e.keys {
		e.custom += r.texts[distinct(r.texts, key)]
	}
	if err := e.add(r, "resources", r.resources, s, false); err != nil {
		return err
	}
	specs := float64(len(r.specs))
	e.specs += specs
	e.steps += 0.2 * specs * (e.specs + 300)
	e.steps += r.generators.scans * s.objects
	s.add(r.generators.made)
	if r.generators.made.objects > 0 {
		if err := e.check(r, r.generators.field, s); err != nil {
			return err
		}
	}
	if err := e.add(r, "components", r.components, s, true); err != nil {
		return err
	}
	e.mark(r.transformers, s)
	for i := range r.effects {
		if err := e.apply(r, &r.effects[i], s); err != nil {
			return err
		}
	}
	return e.configured(r, r, "transformers", s)
}

// configured applies the effects of plugins that files configure: of those that a kustomization
// names, and of all that files below them name. The field is where the path has them.
func (e *estimate) configured(at, r *recipe, field string, s *amount) error {
	e.mark(float64(len(r.configured)), s)
	for i := range r.configured {
		if err := e.apply(at, &r.configured[i], s); err != nil {
			return err
		}
	}
	nested := r.plugins
	if at != r {
		for _, in := range append(r.resources[:len(r.resources):len(r.resources)], r.components...) {
			nested = append(nested[:len(nested):len(nested)], plugin{field, in})
		}
	}
	for _, p := range nested {
		other := e.recipes[p.entry.folder]
		if e.reads++; other == nil || e.open[p.entry.folder] {
			continue
		}
		if err := e.check(at, p.field, s); err != nil {
			return err
		}
		e.open[p.entry.folder] = true
		e.steps += folderSteps
		err := e.configured(at, other, p.field, s)
		delete(e.open, p.entry.folder)
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds what the entries of a field name.
func (e *estimate) add(r *recipe, field string, entries []entry, s *amount, component bool) error {
	for _, in := range entries {
		if err := e.check(r, field, s); err != nil {
			return err
		}
		other := in.files
		switch {
		case in.folder == visit{}:
			e.reads++
			e.steps += valueSteps * other.values
		case component:
			other, *s = *s, amount{}
			e.reads++
			fallthrough
		default:
			e.reads += 3
			before := e.changes
			if !component {
				e.changes = 0
			}
			if err := e.folder(in.folder, &other); err != nil {
				return err
			}
			e.changes = max(e.changes, before)
		}
		e.steps += other.objects * (s.objects + other.objects/2) * pairSteps
		s.add(other)
		if err := e.check(r, field, s); err != nil {
			return err
		}
	}
	return nil
}

// apply applies the effect of a field.
func (e *estimate) apply(r *recipe, f *effect, s *amount) error {
	one := min(s.objects, e.folders*e.most)
	for target, values := range f.byTarget {
		e.addTo(target, values)
	}
	e.steps += f.steps + f.scans*s.objects + f.once*one + f.pairs*s.objects*s.objects*pairSteps/2 +
		f.walks*s.values
	if f.copies > 0 {
		copied := s.times(1 + f.copies)
		copied.objects = s.objects
		if err := e.check(r, f.field, &copied); err != nil {
			return err
		}
		e.steps += f.copies * s.values
	}
	s.add(f.made)
	s.add(f.all.times(s.objects))
	s.add(f.named.times(one))
	s.add(s.double(f.allDoubled))
	s.add(e.largest.double(f.namedDoubled).times(one))
	if f.labels.values > 0 {
		places := s.places + 4*s.objects + e.places(r, f, s)
		s.add(f.labels.times(places))
		e.labels += f.labels.values
		e.steps += places * (1 + e.labels*e.labels*squareSteps/4)
	}
	s.add(f.image.times(s.images))
	if f.name > 0 {
		e.name += f.name
		s.bytes += s.objects * (2*f.name + e.name)
	}
	for i := range f.replacements {
		e.replace(&f.replacements[i], s, one)
		if err := e.check(r, f.field, s); err != nil {
			return err
		}
	}
	return e.check(r, f.field, s)
}

// double returns what is added to an amount that is doubled so many times.
func (a amount) double(times float64) amount {
	if times == 0 {
		return amount{}
	}
	more := amount{bytes: a.bytes, values: a.values}
	for range int(min(times, 100)) {
		more = more.times(2)
	}
	return more
}

// places returns in how many places of the objects the paths of a configuration lead.
func (e *estimate) places(r *recipe, f *effect, s *amount) float64 {
	places := 0.0
	for _, specs := range [][][]string{r.specs, f.specs} {
		for _, keys := range specs {
			places += s.objects
			for _, key := range keys {
				places += e.folders * e.lists[distinct(e.lists, key)]
			}
		}
	}
	return places
}

// check returns an error for a build that has become too large at a field.
func (e *estimate) check(r *recipe, field string, s *amount) error {
	path := r.path
	if rel, err := filepath.Rel(e.dir, path); err == nil {
		path = filepath.ToSlash(rel)
	}
	problem := ""
	switch {
	case s.objects > maxObjects:
		problem = fmt.Sprintf("makes more than %d objects, the limit of a build", maxObjects)
	case s.memory() > maxMemory:
		problem = fmt.Sprintf("makes the objects so large that the build needs more than %d MiB of "+
			"memory, the limit", maxMemory>>20)
	case e.reads > maxReads:
		problem = fmt.Sprintf("names others so often that the build reads more than %d files, the "+
			"limit", maxReads)
	case e.steps > maxSteps:
		problem = fmt.Sprintf("makes the build take too long: it takes more than %.0f million steps, "+
			"the limit", maxSteps/1e6)
	default:
		return nil
	}
	return &tooMuchError{path, field, problem + "; deploy the objects as several sets"}
}

// finish adds what the library does with all objects in the end.
func (e *estimate) finish(r *recipe, s *amount) error {
	n, references := s.objects, s.refs+e.custom
	squares := s.squares
	for _, values := range e.added {
		squares += values * values / 4
	}
	e.steps += valueSteps*s.values + squares*squareSteps + n*(300+e.specs)*0.2 + 0.8*n*n +
		references*n*referenceSteps + references*references/50
	s.bytes += references * (2*e.name + 100)
	if err := e.check(r, "resources", s); err != nil {
		return err
	}
	byPath := func(a, b *recipe) int { return strings.Compare(a.path, b.path) }
	for _, other := range slices.SortedFunc(maps.Values(e.recipes), byPath) {
		for _, keys := range other.vars {
			expanded := *s
			expanded.bytes += s.vars * e.sizeAt(keys).bytes
			if err := e.check(other, "vars", &expanded); err != nil {
				return err
			}
		}
	}
	return nil
}
