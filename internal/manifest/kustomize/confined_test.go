package kustomize

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/muster-deploy/muster/internal/manifest"
)

// writeTree writes the files of an archive. A file of the name *.sh can be started.
func writeTree(t testing.TB, dir, archive string) {
	t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o666)
		if filepath.Ext(path) == ".sh" {
			mode = 0o777
		}
		if err := os.WriteFile(path, f.Data, mode); err != nil {
			t.Fatal(err)
		}
	}
}

// hostile are folders whose build must fail, and must do nothing else: each names something
// elsewhere in a way that the library understands.
var hostile = map[string]string{
	"file of a generator": `-- kustomization.yaml --
configMapGenerator: [{name: x, files: ["c=http://ADDRESS/c"]}]
`,
	"another case of files": `-- kustomization.yaml --
configMapGenerator: [{name: x, Files: ["c=http://ADDRESS/c"]}]
`,
	"another case of a generator": `-- kustomization.yaml --
ConfigMapGenerator: [{NAME: x, fileS: ["c=http://ADDRESS/c"]}]
`,
	"a letter that folds to another": `-- kustomization.yaml --
configMapGenerator: [{name: x, fileſ: ["c=http://ADDRESS/c"]}]
`,
	"both cases": `-- kustomization.yaml --
resources: [cm.yaml]
Resources: ["http://ADDRESS/cm.yaml"]
-- cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
	"envs of a generator": `-- kustomization.yaml --
secretGenerator: [{name: x, Envs: ["http://ADDRESS/c"]}]
`,
	"env of a generator": `-- kustomization.yaml --
secretGenerator: [{name: x, Env: "http://ADDRESS/c"}]
`,
	"resource": `-- kustomization.yaml --
Resources: ["http://ADDRESS/cm.yaml"]
`,
	"resource with a space": `-- kustomization.yaml --
resources: [" http://ADDRESS/cm.yaml"]
`,
	"upload-pack": `-- kustomization.yaml --
Resources: ["file:///nowhere?ref=--upload-pack=touch%20MARKER%20%23"]
`,
	"upload-pack in a base": `-- kustomization.yaml --
Bases: ["file:///nowhere?ref=--upload-pack=touch%20MARKER%20%23"]
`,
	"upload-pack in a component": `-- kustomization.yaml --
Components: ["FILE:///nowhere?ref=--upload-pack=touch%20MARKER%20%23"]
`,
	"git over http": `-- kustomization.yaml --
Resources: ["git::http://ADDRESS/org/repo?timeout=1"]
`,
	"git over ssh": `-- kustomization.yaml --
RESOURCES: ["ssh://git@127.0.0.1/org/repo", "git@127.0.0.1:org/repo"]
`,
	"git host": `-- kustomization.yaml --
ResourceS: ["github.com/org/repo", "GitHub.com:org/repo?ref=main"]
`,
	"crds": `-- kustomization.yaml --
Crds: ["http://ADDRESS/crd"]
`,
	"configurations": `-- kustomization.yaml --
Configurations: ["http://ADDRESS/c"]
`,
	"openapi": `-- kustomization.yaml --
OpenAPI: {path: "http://ADDRESS/c"}
`,
	"openapi with another case of the key": `-- kustomization.yaml --
OpenAPI: {Path: "http://ADDRESS/c"}
resources: [cm.yaml]
-- cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
	"patches": `-- kustomization.yaml --
Patches: [{Path: "http://ADDRESS/c"}]
`,
	"old patches": `-- kustomization.yaml --
PatchesStrategicMerge: ["http://ADDRESS/c"]
PatchesJson6902: [{Path: "http://ADDRESS/c", target: {kind: A, name: a}}]
`,
	"replacements": `-- kustomization.yaml --
Replacements: [{Path: "http://ADDRESS/c"}]
`,
	"plugins by address": `-- kustomization.yaml --
Generators: ["http://ADDRESS/c"]
Transformers: ["http://ADDRESS/c"]
Validators: ["http://ADDRESS/c"]
`,
	"list of generators": `-- kustomization.yaml --
generators: [gen.yaml]
-- gen.yaml --
kind: List
apiVersion: v1
items:
- apiVersion: builtin
  kind: ConfigMapGenerator
  metadata: {name: x}
  files: ["c=http://ADDRESS/c"]
`,
	"list of lists in an entry": `-- kustomization.yaml --
transformers:
- |
  kind: FooList
  apiVersion: v1
  items:
  - kind: List
    apiVersion: v1
    items:
    - apiVersion: builtin
      kind: PatchTransformer
      metadata: {name: x}
      PATH: http://ADDRESS/c
`,
	"second document of a generator": `-- kustomization.yaml --
generators: [gen.yaml]
-- gen.yaml --
apiVersion: builtin
kind: AnnotationsTransformer
metadata: {name: x}
--- # other
"apiVersion": "builtin"
kind: SecretGenerator
metadata: {name: x}
files: ["c=http://ADDRESS/c"]
`,
	"generators in a folder": `-- kustomization.yaml --
generators: [gen]
-- gen/kustomization.yaml --
resources: [gen.yaml]
-- gen/gen.yaml --
apiVersion: builtin
kind: ConfigMapGenerator
metadata: {name: x}
Files: ["c=http://ADDRESS/c"]
`,
	"generators that a folder computes": `-- kustomization.yaml --
generators: [gen]
-- gen/kustomization.yaml --
resources: [gen.yaml]
patches:
- target: {kind: ConfigMapGenerator}
  patch: '[{op: replace, path: /files/0, value: "c=http://ADDRESS/c"}]'
-- gen/gen.yaml --
apiVersion: builtin
kind: ConfigMapGenerator
metadata: {name: x}
files: [c]
-- gen/c --
c
`,
	"generators that a component computes": `-- kustomization.yaml --
generators: [gen]
-- gen/kustomization.yaml --
resources: [gen.yaml]
components: [part]
-- gen/part/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
replacements:
- source: {kind: ConfigMapGenerator, fieldPath: metadata.annotations.a}
  targets: [{select: {kind: ConfigMapGenerator}, fieldPaths: [files.0]}]
-- gen/gen.yaml --
apiVersion: builtin
kind: ConfigMapGenerator
metadata: {name: x, annotations: {a: "c=http://ADDRESS/c"}}
files: [c]
`,
	"the other plugins that name files": `-- kustomization.yaml --
transformers:
- "{apiVersion: builtin, kind: PatchTransformer, metadata: {name: a}, path: 'http://ADDRESS/c'}"
- "{apiVersion: builtin, kind: PatchJson6902Transformer, metadata: {name: a}, Path: 'http://ADDRESS/c', target: {name: a}}"
- "{apiVersion: builtin, kind: PatchStrategicMergeTransformer, metadata: {name: a}, Paths: ['http://ADDRESS/c']}"
- "{apiVersion: builtin, kind: ReplacementTransformer, metadata: {name: a}, Replacements: [{Path: 'http://ADDRESS/c'}]}"
- "{apiVersion: builtin, kind: ValueAddTransformer, metadata: {name: a}, value: a, TargetFilePath: 'http://ADDRESS/c'}"
`,
	"value of a transformer alone": `-- kustomization.yaml --
transformers:
- "{apiVersion: builtin, kind: ValueAddTransformer, metadata: {name: a}, value: a, targetFilePath: 'http://ADDRESS/c'}"
`,
	"chart": `-- kustomization.yaml --
HelmCharts: [{name: a, repo: "http://ADDRESS/"}]
`,
	"chart by a plugin": `-- kustomization.yaml --
generators:
- "{apiVersion: builtin, kind: HelmChartInflationGenerator, metadata: {name: a}, name: a, repo: 'http://ADDRESS/'}"
`,
	"program of the folder": `-- kustomization.yaml --
generators: [gen.yaml]
-- gen.yaml --
apiVersion: example.com/v1
kind: Gen
metadata:
  name: x
  annotations:
    config.kubernetes.io/function: "{exec: {path: ./run.sh}}"
-- run.sh --
#!/bin/sh
touch MARKER
`,
	"image of a function": `-- kustomization.yaml --
validators:
- |
  apiVersion: example.com/v1
  kind: Gen
  metadata:
    name: x
    annotations:
      config.kubernetes.io/function: "{container: {image: example.com/a, network: true}}"
`,
	"program as an old plugin": `-- kustomization.yaml --
transformers: [t.yaml]
-- t.yaml --
{apiVersion: builtin/v1, kind: Gen, metadata: {name: x}, argsOneLiner: MARKER}
`,
	"anchors": `-- kustomization.yaml --
commonAnnotations: {a: &a "http://ADDRESS/c"}
configMapGenerator: [{name: x, files: [*a]}]
`,
	"merge keys": `-- kustomization.yaml --
configMapGenerator:
- &a {name: x, files: [c]}
- {<<: *a, name: y, Files: ["http://ADDRESS/c"]}
-- c --
c
`,
	"merge keys at the top": `-- kustomization.yaml --
metadata: {annotations: {}}
<<: {Resources: ["http://ADDRESS/c"]}
`,
	"documents": `-- kustomization.yaml --
resources: []
---
resources: ["http://ADDRESS/c"]
`,
	"in a base": `-- kustomization.yaml --
resources: [base]
-- base/Kustomization --
resources: [more]
-- base/more/kustomization.yml --
Resources: ["http://ADDRESS/c"]
`,
	"in a base of a component": `-- kustomization.yaml --
components: [part]
-- part/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
Components: [more]
-- part/more/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
Resources: ["http://ADDRESS/c"]
`,
	"two files in a base": `-- kustomization.yaml --
resources: [base]
-- base/kustomization.yaml --
resources: []
-- base/kustomization.yml --
resources: ["http://ADDRESS/c"]
`,
	"file outside": `-- kustomization.yaml --
resources: [OUTSIDE/secret]
Crds: [OUTSIDE/secret]
configMapGenerator: [{name: x, files: [OUTSIDE/secret], Envs: [../outside/secret]}]
`,
}

// TestHostile builds folders that would fetch something or start a program.
func TestHostile(t *testing.T) {
	for name, archive := range hostile {
		t.Run(name, func(t *testing.T) {
			p := newProbe(t)
			dir := filepath.Join(filepath.Dir(p.outside), "package")
			writeTree(t, dir, p.expand(archive))
			objects, err := Build(t.Context(), dir, Root{}, manifest.Options{})
			if err == nil {
				t.Errorf("it has %d objects, want an error", len(objects))
			}
			for _, finding := range p.findings(t) {
				t.Error(finding)
			}
		})
	}
}
