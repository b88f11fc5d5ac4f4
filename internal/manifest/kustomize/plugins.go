package kustomize

//lint:file-ignore SA1019 the types of the built-in plugins say which of their fields name files

import (
	"maps"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/api/builtins"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/base/plaintext"
)

// withoutFiles are the plugins that come with the library and name no files.
var withoutFiles = []string{
	"AnnotationsTransformer", "HashTransformer", "IAMPolicyGenerator", "ImageTagTransformer",
	"LabelTransformer", "NamespaceTransformer", "PrefixSuffixTransformer", "PrefixTransformer",
	"ReplicaCountTransformer", "SuffixTransformer",
}

// readPlugins reads configurations of plugins: objects, files and folders.
func (f *file) readPlugins(field string, entries []string) {
	for i, entry := range entries {
		if f.full() {
			f.omitted += len(entries) - i
			return
		}
		if objects, err := f.resources.NewResMapFromBytes([]byte(entry)); err == nil {
			f.checkPlugins(f.path, objects)
			continue
		}
		for _, in := range f.readEntries(field, entries[i:i+1], true) {
			f.recipe.plugins = append(f.recipe.plugins, plugin{field, in})
		}
	}
}

// readPluginFile reads a file with configurations of plugins. The library reads the same content
// later, whatever becomes of the file.
func (f *file) readPluginFile(field, entry, path string) {
	rel, _, err := f.disk.resolve(path)
	if err != nil {
		f.add(f.path, "%s names %q: %s", field, entry, causeOf(err))
		return
	}
	if IsFile(filepath.Base(rel)) {
		f.add(f.path, "%s names %q, which is a kustomization; name its folder", field, entry)
		return
	}
	text, read := f.disk.checked[rel]
	if !read {
		if text, err = f.disk.read(rel); err != nil {
			f.add(path, "%s", causeOf(err))
			return
		}
	}
	objects, err := f.resources.NewResMapFromBytes(text)
	if err != nil {
		f.add(path, "%s", syntaxError(err))
		return
	}
	f.checkPlugins(path, objects)
	f.disk.checked[rel] = text
}

// checkPlugins rejects configurations of programs and images, and remote files.
func (f *file) checkPlugins(path string, objects resmap.ResMap) {
	for _, obj := range objects.Resources() {
		gvk := obj.GetGvk()
		if gvk.Group != "" || gvk.Version != konfig.BuiltinPluginApiVersion {
			f.add(path, "%s %q is a program or an image, and none is run here; render the objects "+
				"into a file and name that in resources", obj.GetKind(), obj.GetName())
			continue
		}
		config, err := obj.AsYAML()
		if err == nil {
			err = f.checkPlugin(path, obj, config)
		}
		if err != nil {
			f.add(path, "%s %q: %s", obj.GetKind(), obj.GetName(), syntaxError(plaintext.HideYAML(err)))
		}
	}
}

// checkPlugin checks the files that a configuration of a plugin names, as the plugin reads it.
func (f *file) checkPlugin(path string, obj *resource.Resource, config []byte) error {
	in := &file{tree: f.tree, path: path, folder: f.folder, recipe: f.recipe}
	e := effect{field: obj.GetKind(), scans: 10, pairs: 2, copies: 2}
	defer func() { f.recipe.configured = append(f.recipe.configured, e) }()
	size := f.measure(config)
	e.steps = 5 * size.values
	switch kind := obj.GetKind(); kind {
	case "ConfigMapGenerator":
		var p builtins.ConfigMapGeneratorPlugin
		err := yaml.Unmarshal(config, &p)
		in.weighGenerator(&e, &p.KvPairSources)
		in.readSources(&p.KvPairSources)
		return err
	case "SecretGenerator":
		var p builtins.SecretGeneratorPlugin
		err := yaml.Unmarshal(config, &p)
		in.weighGenerator(&e, &p.KvPairSources)
		in.readSources(&p.KvPairSources)
		return err
	case "PatchTransformer":
		var p builtins.PatchTransformerPlugin
		err := yaml.Unmarshal(config, &p)
		in.weighPatch(&e, p.Path, p.Patch, p.Target)
		in.readPath("path", &p.Path)
		return err
	case "PatchJson6902Transformer":
		var p builtins.PatchJson6902TransformerPlugin
		err := yaml.Unmarshal(config, &p)
		in.weighPatch(&e, p.Path, p.JsonOp, p.Target)
		in.readPath("path", &p.Path)
		return err
	case "PatchStrategicMergeTransformer":
		var p builtins.PatchStrategicMergeTransformerPlugin
		err := yaml.Unmarshal(config, &p)
		in.weighMerges(&e, append(p.Paths[:len(p.Paths):len(p.Paths)],
			types.PatchStrategicMerge(p.Patches)))
		in.readMergePatches("paths", p.Paths)
		return err
	case "ReplacementTransformer":
		var p builtins.ReplacementTransformerPlugin
		err := yaml.Unmarshal(config, &p)
		e.replacements = in.replacementsOf(p.ReplacementList)
		for i := range p.ReplacementList {
			in.readPath("path", &p.ReplacementList[i].Path)
		}
		return err
	case "ValueAddTransformer":
		var p builtins.ValueAddTransformerPlugin
		err := yaml.Unmarshal(config, &p)
		targets := in.measureEntry(p.TargetFilePath)
		e.all = size.times(1 + size.values + targets.values)
		in.readPath("targetFilePath", &p.TargetFilePath)
		return err
	case "HelmChartInflationGenerator":
		in.add(path, needsHelm, kind)
	default:
		if !slices.Contains(withoutFiles, kind) {
			in.add(path, "%s is no plugin that comes with kustomize", kind)
		}
		e.all = amount{bytes: size.bytes * size.values, values: size.values * size.values / 4}
		e.name, e.labels, e.walks = size.bytes, size, size.values
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
