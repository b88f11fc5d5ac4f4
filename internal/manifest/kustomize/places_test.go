package kustomize

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/muster-deploy/muster/internal/manifest"
)

// hashed is an object of a base that gets a hash of all of its content as the end of its name.
const hashed = `-- base/kustomization.yaml --
resources: [cm.yaml, quota.yaml]
buildMetadata: [originAnnotations]
-- base/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {config.kubernetes.io/origin: x}}}
-- base/quota.yaml --
apiVersion: v1
kind: ResourceQuota
metadata: {name: q, annotations: {kustomize.config.k8s.io/needs-hash: "true"}}
-- pkg/kustomization.yaml --
resources: [../base]
namespace: shop
labels: [{pairs: {a: b}}]
`

// TestPlacesChangeNothing builds objects as the library alone does, whose places are known.
func TestPlacesChangeNothing(t *testing.T) {
	for name, archive := range map[string]string{
		"no metadata": hashed,
		"metadata":    hashed + "buildMetadata: [originAnnotations, transformerAnnotations]\n",
		"managed":     hashed + "buildMetadata: [managedByLabel]\n",
		"patch": hashed + "patches: [{target: {kind: ConfigMap}, patch: " +
			`'[{"op": "test", "path": "/metadata/annotations", "value": null}]'}]` + "\n",
		"source": hashed + "replacements:\n" +
			"- source: {kind: ConfigMap, fieldPath: metadata.annotations}\n" +
			"  targets: [{select: {kind: ResourceQuota}, fieldPaths: [spec], options: {create: true}}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeTree(t, dir, archive)
			pkg := filepath.Join(dir, "pkg")
			objects, err := Build(t.Context(), pkg, Root{Dir: dir}, manifest.Options{})
			built, failure := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).
				Run(filesys.MakeFsOnDisk(), pkg)
			if (err == nil) != (failure == nil) {
				t.Fatalf("Build = %v, and the library alone: %v", err, failure)
			}
			if err != nil {
				return
			}
			for i, want := range built.Resources() {
				fields, err := want.Map()
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(fields, objects[i].Object); diff != "" {
					t.Errorf("object %d (-want +got):\n%s", i, diff)
				}
				if place := objects[i].Origin.String(); !strings.HasPrefix(place, "../base/cm.yaml (") &&
					!strings.HasPrefix(place, "../base/quota.yaml (") {
					t.Errorf("the place of object %d is %s", i, place)
				}
			}
		})
	}
}

// TestUnknownPlaces builds objects whose file is not known: through links, paths would name other
// files, and what a kustomization says about a file need not be true.
func TestUnknownPlaces(t *testing.T) {
	const cm = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
	for name, archive := range map[string]string{
		"link": "-- pkg/kustomization.yaml --\nresources: [link]\n" +
			"-- far/base/kustomization.yaml --\nresources: [../other]\n" +
			"-- far/other/kustomization.yaml --\nresources: [cm.yaml]\n-- far/other/cm.yaml --\n" + cm +
			"-- pkg/other/cm.yaml --\n" + cm,
		"other file": "-- pkg/kustomization.yaml --\nresources: [cm.yaml]\ncommonAnnotations: " +
			"{config.kubernetes.io/origin: 'path: ../secret.yaml'}\n-- pkg/cm.yaml --\n" + cm +
			"-- secret.yaml --\n" + cm,
		"absolute": "-- pkg/kustomization.yaml --\nresources: [cm.yaml]\ncommonAnnotations: " +
			"{config.kubernetes.io/origin: 'path: DIR/pkg/cm.yaml'}\n-- pkg/cm.yaml --\n" + cm,
		"no origin": "-- pkg/kustomization.yaml --\nresources: [cm.yaml]\ncommonAnnotations: " +
			"{config.kubernetes.io/origin: '['}\n-- pkg/cm.yaml --\n" + cm,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeTree(t, dir, strings.ReplaceAll(archive, "DIR", dir))
			if err := os.Symlink("../far/base", filepath.Join(dir, "pkg", "link")); err != nil {
				t.Fatal(err)
			}
			objects, err := Build(t.Context(), filepath.Join(dir, "pkg"), Root{Dir: dir},
				manifest.Options{})
			if err != nil || len(objects) != 1 {
				t.Fatalf("Build returns %d objects, and %v", len(objects), err)
			}
			if got := objects[0].Origin.String(); got != "kustomization.yaml (built)" {
				t.Errorf("the place is %s", got)
			}
		})
	}
}
