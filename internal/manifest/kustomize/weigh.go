package kustomize

//lint:file-ignore SA1019 deprecated fields of a kustomization change objects too

import (
	"bytes"
	"path/filepath"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// weigh makes the recipe of a kustomization, without what its resources and components name.
func (f *file) weigh(k *types.Kustomization) {
	r := f.recipe
	r.generators.field = "configMapGenerator"
	for i := range k.ConfigMapGenerator {
		f.weighGenerator(&r.generators, &k.ConfigMapGenerator[i].KvPairSources)
	}
	for i := range k.SecretGenerator {
		r.generators.field = "secretGenerator"
		f.weighGenerator(&r.generators, &k.SecretGenerator[i].KvPairSources)
	}
	for _, entry := range append(k.Configurations[:len(k.Configurations):len(k.Configurations)],
		k.Crds...) {
		text := f.readEntry(entry)
		r.specs = append(r.specs, specsOf(text)...)
	}
	for _, v := range k.Vars {
		r.vars = append(r.vars, pathKeys(v.FieldRef.FieldPath))
	}
	merges := effect{field: "patchesStrategicMerge"}
	f.weighMerges(&merges, k.PatchesStrategicMerge)
	r.effects = []effect{
		merges, f.weighPatches("patches", k.Patches),
		f.weighPatches("patchesJson6902", k.PatchesJson6902), f.weighName("namespace", k.Namespace),
		f.weighName("namePrefix", k.NamePrefix), f.weighName("nameSuffix", k.NameSuffix),
		f.weighLabels(k), f.weighLabelsOf("commonAnnotations", k.CommonAnnotations, nil),
		weighImages(k), {field: "replicas", scans: 5 * float64(len(k.Replicas))},
		{field: "replacements", replacements: f.replacementsOf(k.Replacements)},
		{field: "vars", scans: 10 * float64(len(k.Vars))},
	}
	r.transformers = transformersOf(k)
}

// transformersOf returns the number of transformers that the fields of a kustomization configure.
func transformersOf(k *types.Kustomization) float64 {
	n := len(k.Patches) + len(k.PatchesJson6902) + len(k.Images) + len(k.Replicas) + len(k.Labels)
	for _, used := range []bool{
		len(k.PatchesStrategicMerge) > 0, k.Namespace != "", k.NamePrefix != "", k.NameSuffix != "",
		len(k.Labels)+len(k.CommonLabels) > 0, len(k.CommonAnnotations) > 0, len(k.Replacements) > 0,
	} {
		if used {
			n++
		}
	}
	return float64(n)
}

// measure returns the amount of what is in a text of the kustomization.
func (f *file) measure(text []byte) amount {
	f.census.texts = f.recipe.texts
	return f.census.measure(text)
}

// locate returns the path, relative to the folder of the file system, of a file that a field names.
func (f *file) locate(entry string) (string, bool) {
	if entry == "" || isRemote(entry) {
		return "", false
	}
	path := entry
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.folder, entry)
	}
	rel, _, err := f.disk.resolve(path)
	return rel, err == nil
}

// readEntry returns the content of a file that a field names, if it can be read: the build reports
// other files.
func (f *file) readEntry(entry string) []byte {
	rel, exists := f.locate(entry)
	if !exists || f.walked > maxWalked || f.walks > maxReads {
		return nil
	}
	text, err := f.disk.read(rel)
	if err != nil {
		return nil
	}
	f.walks++
	if f.walked += len(text); f.walked > maxWalked || f.walks > maxReads {
		f.add(f.path, "it and what it names read more than %d MiB, or %d times a file, the limits of "+
			"a build; deploy the objects as several sets", maxWalked>>20, maxReads)
		return nil
	}
	return text
}

// maxWalked limits the bytes of the files of a build, each of which is counted once.
const maxWalked = 64 << 20

// measureEntry returns the amount of what is in a file that a field names.
func (f *file) measureEntry(entry string) amount {
	rel, exists := f.locate(entry)
	if !exists {
		return amount{}
	}
	known, measured := f.files[rel]
	if !measured {
		known.texts = map[string]float64{}
		f.census.texts = known.texts
		known.amount = f.census.measure(f.readEntry(entry))
		f.files[rel] = known
	}
	for key, n := range known.texts {
		f.recipe.texts[distinct(f.recipe.texts, key)] += n
	}
	return known.amount
}

// weighGenerator adds an object that a generator makes.
func (f *file) weighGenerator(e *effect, s *types.KvPairSources) {
	data := amount{objects: 1, bytes: 200, values: 20}
	add := func(key string, bytes int) {
		value := amount{bytes: float64(bytes)*4/3 + 8, values: 2}
		f.raise(key, value)
		data.add(value)
	}
	for _, literal := range s.LiteralSources {
		key, value, _ := strings.Cut(literal, "=")
		data.vars += float64(strings.Count(value, "$("))
		add(key, len(value))
	}
	for _, source := range s.FileSources {
		key, path := splitSource(source)
		text := f.readEntry(path)
		data.vars += float64(bytes.Count(text, []byte("$(")))
		add(strings.TrimSuffix(key, "="), len(text))
		add(filepath.Base(path), 0)
	}
	for _, source := range append(s.EnvSources[:len(s.EnvSources):len(s.EnvSources)], s.EnvSource) {
		text := f.readEntry(source)
		size := amount{
			bytes:  float64(len(text)) * 4 / 3,
			values: 2 * float64(bytes.Count(text, []byte("\n"))),
		}
		f.unknown = f.unknown.or(size)
		data.add(size)
	}
	f.raise("data", data)
	e.addTo("data", data.values)
	data.squares = data.values * data.values / 4
	e.made.add(data)
	e.scans += 3
}

// specsOf returns the paths that a configuration of transformers names, divided into their keys.
func specsOf(text []byte) [][]string {
	var document yamlv3.Node
	if yamlv3.Unmarshal(text, &document) != nil {
		return nil
	}
	var specs [][]string
	walk(&document, func(n *yamlv3.Node) {
		if path := child(n, "path"); path != "" {
			specs = append(specs, strings.Split(path, "/"))
		}
	})
	return specs
}

// walk visits a node and all in it, without what aliases stand for.
func walk(n *yamlv3.Node, visit func(*yamlv3.Node)) {
	visit(n)
	for _, inner := range n.Content {
		walk(inner, visit)
	}
}

// weighPatches returns the effect of patches.
func (f *file) weighPatches(field string, patches []types.Patch) effect {
	e := effect{field: field}
	for _, p := range patches {
		f.weighPatch(&e, p.Path, p.Patch, p.Target)
	}
	return e
}

// weighPatch adds the effect of a patch, which is a file or a text.
func (f *file) weighPatch(e *effect, path, patch string, target *types.Selector) {
	if path != "" {
		e.addPatch(f.measureEntry(path), target)
		return
	}
	e.addPatch(f.measure([]byte(patch)), target)
}

// weighMerges adds the effect of patches, each of which is a file or the patch itself.
func (f *file) weighMerges(e *effect, patches []types.PatchStrategicMerge) {
	for _, p := range patches {
		if _, isFile := f.locate(string(p)); isFile && !strings.Contains(string(p), "\n") {
			e.addPatch(f.measureEntry(string(p)), nil)
			continue
		}
		e.addPatch(f.measure([]byte(p)), nil)
	}
}

// weighName returns the effect of a text that becomes a part of each name, or the namespace.
func (f *file) weighName(field, text string) effect {
	e := effect{field: field}
	if text != "" {
		e.name, e.scans = float64(len(text)), 10
		if field == "namespace" {
			e.pairs = 2
		}
	}
	return e
}

// weighLabels returns the effect of labels.
func (f *file) weighLabels(k *types.Kustomization) effect {
	e := f.weighLabelsOf("commonLabels", k.CommonLabels, nil)
	for _, l := range k.Labels {
		other := f.weighLabelsOf("labels", l.Pairs, l.FieldSpecs)
		e.labels.add(other.labels)
		e.scans += other.scans
		e.specs = append(e.specs, other.specs...)
		e.field = "labels"
	}
	return e
}

// weighLabelsOf returns the effect of labels or annotations in some places more than usual.
func (f *file) weighLabelsOf(
	field string, pairs map[string]string, specs []types.FieldSpec,
) effect {
	e := effect{field: field}
	if len(pairs) == 0 {
		return e
	}
	for key, value := range pairs {
		size := amount{
			bytes: float64(len(key)+len(value)) + 8, values: 2,
			vars: float64(strings.Count(value, "$(")),
		}
		f.raise(key, size)
		e.labels.add(size)
	}
	for _, spec := range specs {
		e.specs = append(e.specs, strings.Split(spec.Path, "/"))
	}
	e.scans = 10 + 2*float64(len(specs)) + 2*float64(len(pairs))
	return e
}

// weighImages returns the effect of images.
func weighImages(k *types.Kustomization) effect {
	e := effect{field: "images"}
	for _, images := range [][]types.Image{k.Images, k.ImageTags} {
		for _, i := range images {
			text := len(i.NewName) + len(i.NewTag) + len(i.TagSuffix) + len(i.Digest)
			e.image.add(amount{bytes: float64(text)})
			e.walks += 0.2
			e.scans += 20
		}
	}
	return e
}

// replacementsOf returns replacements, some of which are in files.
func (f *file) replacementsOf(fields []types.ReplacementField) []types.Replacement {
	var all []types.Replacement
	for _, r := range fields {
		if r.Path == "" {
			all = append(all, r.Replacement)
			continue
		}
		text := f.readEntry(r.Path)
		var list []types.Replacement
		if yaml.Unmarshal(text, &list) == nil {
			all = append(all, list...)
			continue
		}
		var one types.Replacement
		if yaml.Unmarshal(text, &one) == nil {
			all = append(all, one)
		}
	}
	return all
}
