package kustomize

import (
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/utils"
)

// effect is what one field of a kustomization does to the objects, by all of its entries.
type effect struct {
	field string
	// What is added to each object, to the objects of one kind and name, and to all together.
	all, named, made amount
	// How often the entries may double an object.
	allDoubled, namedDoubled float64
	// Values that are added to one map, by what it is in.
	byTarget map[string]float64
	scans    float64 // steps for each object
	once     float64 // steps for each object of one kind and name
	pairs    float64 // how often each object is compared with each other
	walks    float64 // how often all values are visited
	copies   float64 // the copies of all objects that there are at once
	steps    float64 // whatever the objects are

	labels, image amount     // added to each map of labels, and to each image
	name          float64    // the bytes that are added to each name
	specs         [][]string // the paths of other maps of labels
	replacements  []types.Replacement
}

// recipe is what the library does with a kustomization.
type recipe struct {
	path       string
	texts      map[string]float64 // the number of texts below each key in its files
	resources  []entry            // in their order
	generators effect
	components []entry
	specs      [][]string // the paths in its configurations, divided into keys
	vars       [][]string // the paths of the values of its variables
	effects    []effect
	configured []effect // of configurations of plugins in files, and in the kustomization itself
	plugins    []plugin

	transformers float64 // those that its fields configure
}

// plugin is an entry of a field that names configurations of plugins.
type plugin struct {
	field string
	entry entry
}

// entry is a folder, or the files between two folders.
type entry struct {
	folder visit
	files  amount
}

// literal matches a pattern that selects what has a name, and few others: a dot is any character.
var literal = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// selectsOne reports whether a selector selects the objects of one kind and name.
func selectsOne(s *types.Selector) bool {
	return s != nil && literal.MatchString(s.Kind) && literal.MatchString(s.Name)
}

// addPatch adds the effect of a patch that was measured.
func (e *effect) addPatch(size amount, target *types.Selector) {
	copied := size.copies
	e.steps += 2 * size.values
	e.scans += 5 * max(size.objects, 1)
	size.objects, size.copies = 0, 0
	if target != nil {
		e.pairs++
	}
	steps := patchSteps + patchByteSteps*size.bytes
	if target == nil || selectsOne(target) {
		e.named.add(size)
		e.namedDoubled += copied
		e.once += steps
		key := ""
		if target != nil {
			key = target.Kind + "/" + target.Name
		}
		e.addTo(key, size.values)
		return
	}
	e.walks += 3
	e.scans += steps
	e.all.add(size)
	e.allDoubled += copied
}

// addTo counts values that are added to one map.
func (e *effect) addTo(target string, values float64) {
	if e.byTarget == nil {
		e.byTarget = map[string]float64{}
	}
	e.byTarget[target] += values
}

// pathKeys returns the elements of the path of a field in a replacement.
func pathKeys(path string) []string {
	if path == "" {
		path = types.DefaultReplacementFieldPath
	}
	return utils.SmarterPathSplitter(path, ".")
}

// isKey reports whether an element of a path is a key, and selects no elements of a list.
func isKey(element string) bool {
	return element != "" && element != "*" && element != "-" && !strings.HasPrefix(element, "[") &&
		strings.Trim(element, "0123456789") != ""
}
