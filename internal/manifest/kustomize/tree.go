package kustomize

//lint:file-ignore SA1019 deprecated fields of a kustomization name files too

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/base/yamltext"
)

// tree reads a kustomization and all that it names, as the library does, and checks that nothing is
// fetched or started. For each kustomization it writes one that says the same, in which every path
// begins so that it cannot be an address.
type tree struct {
	disk      *disk
	resources *resmap.Factory
	seen      map[visit]bool
	hasSchema bool                 // a kustomization has a schema of its own
	isSorted  bool                 // the kustomization of the package has an order of its own
	isLinked  bool                 // a link or an absolute entry leads to a folder
	top       *types.Kustomization // that of the package, as the library reads it
	topFile   string               // its key in the content that was checked
	warnings  problems             // deprecated fields
	recipes   map[visit]*recipe
	walked    int // the bytes of the files that were read for the estimate
	walks     int // the number of times that one was
	outside   []Reference
	*census
	problems
}

// visit is a folder and the use of its objects.
type visit struct {
	folder  string // relative to the folder of the file system
	plugins bool   // its objects configure plugins
}

// newTree returns a tree whose problems have paths relative to a folder.
func newTree(d *disk, dir string) *tree {
	return &tree{
		disk:      d,
		resources: resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory()),
		seen:      map[visit]bool{},
		recipes:   map[visit]*recipe{},
		census:    newCensus(),
		problems:  problems{dir: dir},
		warnings:  problems{dir: dir},
	}
}

// file is a kustomization that is read.
type file struct {
	*tree
	path   string // absolute
	folder string // absolute
	recipe *recipe
}

// readFolder reads the kustomization of a folder. The build reports a missing one.
func (t *tree) readFolder(dir string, plugins bool) {
	rel, _, err := t.disk.resolve(dir)
	if err != nil || t.seen[visit{rel, plugins}] {
		return
	}
	t.seen[visit{rel, plugins}] = true
	folder := filepath.Join(t.disk.real, rel)
	path, found := t.findFile(folder)
	if path == "" {
		return
	}
	f := &file{tree: t, path: path, folder: folder}
	text, err := t.disk.read(found)
	if err != nil {
		t.add(path, "%s", causeOf(err))
		return
	}
	k, err := decode(text)
	if err != nil {
		t.add(path, "%s", err)
		return
	}
	if field, n := longest(k); n > maxReads {
		t.add(path, "%s has %d entries, more than the limit of %d", field, n, maxReads)
		return
	}
	f.recipe = &recipe{path: path, texts: map[string]float64{}}
	t.recipes[visit{rel, plugins}] = f.recipe
	f.weigh(k)
	f.readFields(k, plugins)
	f.warnDeprecated(k)
	t.isSorted = t.isSorted || folder == t.dir && k.SortOptions != nil
	k.FixKustomization()
	if plugins {
		f.checkPlain(k)
	}
	key := filepath.Join(rel, filepath.Base(path))
	if folder == t.dir && !plugins {
		t.top, t.topFile = k, key
	}
	t.write(path, key, k)
}

// longest returns the field of a kustomization with the longest list, and its length.
func longest(k *types.Kustomization) (field string, length int) {
	value := reflect.ValueOf(k).Elem()
	for i := range value.NumField() {
		if f := value.Field(i); f.Kind() == reflect.Slice && f.Len() > length {
			field, _, _ = strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
			length = f.Len()
		}
	}
	return field, length
}

// warnDeprecated adds a warning for each deprecated field.
func (f *file) warnDeprecated(k *types.Kustomization) {
	for _, text := range *k.CheckDeprecatedFields() {
		text = strings.TrimPrefix(text, "# Warning: ")
		text, _, _ = strings.Cut(text, " [EXPERIMENTAL]")
		text, _, _ = strings.Cut(text, " Run '")
		f.warnings.add(f.path, "%s", text)
	}
}

// findFile returns the path of a folder's kustomization, and where it is relative to the folder of
// the file system: it may be a link. It returns nothing if there is none, or a problem.
func (t *tree) findFile(folder string) (path, found string) {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		file := filepath.Join(folder, name)
		at, info, err := t.disk.resolve(file)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !t.disk.isLink(file), err == nil && info.IsDir():
			continue
		case errors.Is(err, fs.ErrNotExist):
			t.add(file, "it is a symbolic link that leads nowhere")
			return "", ""
		case errors.As(err, new(*outsideError)):
			t.add(file, "it is a symbolic link that leads out of %s", t.disk.name)
			return "", ""
		case err != nil:
			t.add(file, "%s", causeOf(err))
			return "", ""
		case !within(filepath.Join(t.disk.real, at), folder):
			t.add(file, "it is a symbolic link to a file that is not in or below its folder")
			return "", ""
		case path != "":
			t.add(path, "the folder has %s too; keep one of them", name)
			return "", ""
		}
		path, found = file, at
	}
	return path, found
}

// write keeps the content that the library reads instead of a file.
func (t *tree) write(path, rel string, k *types.Kustomization) {
	if k.CheckEmpty() != nil {
		t.add(path, "the kustomization is empty; list its files in resources")
		return
	}
	if k.MetaData == nil {
		k.MetaData = &types.ObjectMeta{} // so that fields with empty lists do not count as none
	}
	text, err := yamltext.Marshal(k)
	if err != nil {
		t.add(path, "%s", plaintext.HideYAML(err))
		return
	}
	t.disk.checked[rel] = text
}

// separator matches what begins a document after the first one.
var separator = regexp.MustCompile(`(?m)^(---|\.\.\.)`)

// decode returns a kustomization as the library reads it. It is one document, whose keys are known
// and different.
func decode(text []byte) (*types.Kustomization, error) {
	if separator.Match(text) {
		if err := checkDocuments(text); err != nil {
			return nil, err
		}
	}
	text, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, syntaxError(err)
	}
	if err := checkKeys(text, reflect.TypeFor[types.Kustomization]()); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text)) // as the library does
	decoder.DisallowUnknownFields()
	k := &types.Kustomization{}
	if err := decoder.Decode(k); err != nil {
		return nil, syntaxError(err)
	}
	return k, nil
}

// checkDocuments returns an error for a second document.
func checkDocuments(text []byte) error {
	documents := kyaml.NewDecoder(bytes.NewReader(text))
	for number := 1; ; number++ {
		var node kyaml.Node
		switch err := documents.Decode(&node); {
		case err == io.EOF:
			return nil
		case err != nil:
			return syntaxError(err)
		case number > 1 && (len(node.Content) == 0 || node.Content[0].ShortTag() != "!!null"):
			return errors.New("it has several documents, and a kustomization is one; " +
				"put the others into files")
		}
	}
}

// syntaxError returns an error of a library in one line, without what only its developers know.
func syntaxError(err error) error {
	text := plaintext.HideYAML(err).Error()
	for _, prefix := range []string{
		"invalid Kustomization: ", "error converting YAML to JSON: ", "yaml: ", "unmarshal errors:",
		"json: ",
	} {
		text = strings.TrimPrefix(text, prefix)
	}
	return errors.New(strings.Join(strings.Fields(text), " "))
}

// causeOf returns an error without the path that it begins with.
func causeOf(err error) error {
	if failure := (*fs.PathError)(nil); errors.As(err, &failure) {
		return failure.Err
	}
	return err
}

const needsHelm = "%s needs a tool that is not run here; " +
	"render the chart into a file and name that in resources"

// checkPlain rejects a kustomization of plugins that does more than list files: what it makes of
// them is known only after the build, and could name anything.
func (f *file) checkPlain(k *types.Kustomization) {
	rest := *k
	rest.TypeMeta, rest.MetaData, rest.Resources, rest.Components = types.TypeMeta{}, nil, nil, nil
	rest.BuildMetadata = nil
	if !reflect.DeepEqual(rest, types.Kustomization{}) {
		f.add(f.path, "it changes the configurations of plugins, and may only list them in resources; "+
			"write the result into a file, and name that instead of the folder")
	}
}

// readFields checks the fields that name files or folders, and makes their paths local.
func (f *file) readFields(k *types.Kustomization, plugins bool) {
	f.recipe.resources = append(f.readEntries("resources", k.Resources, plugins),
		f.readEntries("bases", k.Bases, plugins)...)
	f.recipe.components = f.readEntries("components", k.Components, plugins)
	f.readPlugins("generators", k.Generators)
	f.readPlugins("transformers", k.Transformers)
	f.readPlugins("validators", k.Validators)
	if len(k.HelmCharts) > 0 {
		f.add(f.path, needsHelm, "helmCharts")
	}
	if len(k.HelmChartInflationGenerator) > 0 {
		f.add(f.path, needsHelm, "helmChartInflationGenerator")
	}
	for i := range k.ConfigMapGenerator {
		f.readSources(&k.ConfigMapGenerator[i].KvPairSources)
	}
	for i := range k.SecretGenerator {
		f.readSources(&k.SecretGenerator[i].KvPairSources)
	}
	for i, name := range k.Crds {
		if err := checkDefinitions(f.readEntry(name)); err != nil {
			f.add(f.path, "crds names %q: %s", name, err)
		}
		f.readPath("crds", &k.Crds[i])
	}
	f.readPaths("configurations", k.Configurations)
	f.hasSchema = f.hasSchema || len(k.OpenAPI) > 0
	for _, key := range sortedKeys(k.OpenAPI) {
		value := k.OpenAPI[key]
		f.readPath("openapi", &value)
		if key == "path" {
			k.OpenAPI[key] = value
		}
	}
	for i := range k.Patches {
		f.readPath("path", &k.Patches[i].Path)
	}
	f.readMergePatches("patchesStrategicMerge", k.PatchesStrategicMerge)
	for i := range k.PatchesJson6902 {
		f.readPath("path", &k.PatchesJson6902[i].Path)
	}
	for i := range k.Replacements {
		f.readPath("path", &k.Replacements[i].Path)
	}
}

// readEntries reads entries that name files or folders.
func (f *file) readEntries(field string, entries []string, plugins bool) []entry {
	var all []entry
	for i, name := range entries {
		if f.full() {
			f.omitted += len(entries) - i
			return nil
		}
		if isRemote(name) {
			f.addRemote(field, name)
			continue
		}
		path, info := f.find(field, name)
		switch {
		case info == nil:
		case info.IsDir():
			entries[i] = local(name)
			f.readFolder(path, plugins)
			if rel, _, err := f.disk.resolve(path); err == nil {
				f.isLinked = f.isLinked || path != filepath.Join(f.disk.real, rel) || filepath.IsAbs(name)
				all = append(all, entry{folder: visit{rel, plugins}})
			}
		default:
			entries[i] = localFile(name)
			if plugins {
				f.readPluginFile(field, name, path)
			}
			all = append(all, entry{files: f.measureEntry(name)})
		}
	}
	return all
}

// find returns the absolute path of an entry and the information on its file. It reports an entry
// that cannot be used, and then returns no information.
func (f *file) find(field, entry string) (string, fs.FileInfo) {
	path := entry
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.folder, entry)
	}
	_, info, err := f.disk.resolve(path)
	outside := (*outsideError)(nil)
	switch {
	case errors.As(err, &outside):
		f.add(f.path, "%s names %q, which lies outside of %s", field, entry, outside.root)
		f.addOutside(field, entry, path)
		return path, nil
	case err != nil:
		f.add(f.path, "%s names %q, which does not exist", field, entry)
		return path, nil
	}
	if err := boundedio.CheckMode(entry, info.Mode()); err != nil {
		f.add(f.path, "%s names %q: %s", field, entry, errors.Unwrap(err))
		return path, nil
	}
	return path, info
}

// addOutside keeps an entry that leads out of the root.
func (f *file) addOutside(field, entry, path string) {
	name := f.path
	if rel, err := filepath.Rel(f.dir, name); err == nil {
		name = filepath.ToSlash(rel)
	}
	f.outside = append(f.outside, Reference{name, field, entry, path})
}

// readSources checks the files of a generator.
func (f *file) readSources(s *types.KvPairSources) {
	for i, entry := range s.FileSources {
		key, path := splitSource(entry)
		if isRemote(entry) || isRemote(path) {
			f.addRemote("files", entry)
			continue
		}
		if key == "" && IsFile(filepath.Base(path)) {
			key = filepath.Base(path) + "="
		}
		s.FileSources[i] = key + localFile(path)
	}
	f.readPaths("envs", s.EnvSources)
	f.readPath("env", &s.EnvSource)
}

// readMergePatches checks patches, each of which is a file or the patch itself.
func (f *file) readMergePatches(field string, patches []types.PatchStrategicMerge) {
	for i, patch := range patches {
		if _, err := f.resources.RF().SliceFromBytes([]byte(patch)); err != nil {
			path := string(patch)
			f.readPath(field, &path)
			patches[i] = types.PatchStrategicMerge(path)
		}
	}
}

// readPaths checks entries that name files.
func (f *file) readPaths(field string, entries []string) {
	for i := range entries {
		f.readPath(field, &entries[i])
	}
}

// readPath checks an entry that names a file, if it is not empty. The build reports missing files.
func (f *file) readPath(field string, entry *string) {
	switch {
	case isRemote(*entry):
		f.addRemote(field, *entry)
	case *entry != "":
		*entry = localFile(*entry)
	}
}

// localFile returns the path of a file as the library reads it: that of a kustomization file, which
// is none in this place, leads to its content on disk.
func localFile(path string) string {
	if IsFile(filepath.Base(path)) {
		return local(path) + "/" + original
	}
	return local(path)
}

func (f *file) addRemote(field, entry string) {
	f.add(f.path, "%s names %q, and nothing is fetched from elsewhere; keep a copy in the package",
		field, entry)
}
