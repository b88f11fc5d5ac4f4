// Package chart tests the Helm chart of the controller with Helm itself.
package chart

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// deployDir has the manifests and the chart of the controller.
var deployDir = filepath.Join("..", "..", "deploy")

// requireHelm skips the test without Helm, or fails it with MUSTER_TEST_TOOLS=required.
func requireHelm(t *testing.T) {
	t.Helper()
	_, err := os.Stat(helm())
	switch {
	case err == nil:
	case os.Getenv("MUSTER_TEST_TOOLS") == "required":
		t.Fatalf("make build-tools builds Helm: %v", err)
	default:
		t.Skip("make build-tools builds Helm")
	}
}

// TestChart compares what the chart renders with the manifests: each value changes what it says,
// and nothing else.
func TestChart(t *testing.T) {
	requireHelm(t)
	if out, err := exec.Command(helm(), "lint", "--strict", chart()).CombinedOutput(); err != nil {
		t.Fatalf("helm lint: %v\n%s", err, out)
	}
	plain := manifestFields(t)
	for _, test := range []struct {
		values string
		want   []string
	}{
		{values: ""},
		{values: "replicas=3", want: []string{
			"- Deployment muster-system/muster-controller .spec.replicas = 2",
			"+ Deployment muster-system/muster-controller .spec.replicas = 3"}},
		{values: "image.repository=r.example.com/c,image.tag=v1,image.pullPolicy=Always", want: []string{
			"- Deployment muster-system/muster-controller .spec.template.spec.containers.0.image = " +
				"muster-controller:latest",
			"+ Deployment muster-system/muster-controller .spec.template.spec.containers.0.image = " +
				"r.example.com/c:v1",
			"+ Deployment muster-system/muster-controller " +
				".spec.template.spec.containers.0.imagePullPolicy = Always"}},
		{values: "defaultServiceAccount=ci,concurrent=8,concurrentPerNamespace=2", want: []string{
			"+ Deployment muster-system/muster-controller .spec.template.spec.containers.0.args.4 = " +
				"--default-service-account=ci",
			"+ Deployment muster-system/muster-controller .spec.template.spec.containers.0.args.5 = " +
				"--concurrent=8",
			"+ Deployment muster-system/muster-controller .spec.template.spec.containers.0.args.6 = " +
				"--concurrent-per-namespace=2"}},
		{values: "impersonate={deployer}", want: []string{
			"+ ClusterRole muster-controller .rules.5.resourceNames.0 = deployer"}},
		{values: "resources.limits.memory=1Gi", want: []string{
			"- Deployment muster-system/muster-controller " +
				".spec.template.spec.containers.0.resources.limits.memory = 512Mi",
			"+ Deployment muster-system/muster-controller " +
				".spec.template.spec.containers.0.resources.limits.memory = 1Gi"}},
	} {
		out, err := render(test.values)
		if err != nil {
			t.Errorf("%q: %v\n%s", test.values, err, out)
			continue
		}
		got := changedFields(plain, fieldsOf(t, string(out)))
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.values, diff)
		}
	}
}

// Values that add or remove objects say which.
func TestChartObjects(t *testing.T) {
	requireHelm(t)
	all := objectsIn(manifestFields(t))
	for _, test := range []struct {
		values       string
		without, add []string
	}{
		{values: "installCRDs=false", without: []string{
			"CustomResourceDefinition resourcegroups.kpt.dev", "CustomResourceDefinition sets.muster.dev"}},
		{values: "metrics.enabled=false", without: []string{"Service muster-system/muster-controller"}},
		{values: "namespaces={a,b}", add: []string{
			"Role a/muster-controller-sets", "Role b/muster-controller-sets",
			"RoleBinding a/muster-controller-sets", "RoleBinding b/muster-controller-sets"}},
	} {
		out, err := render(test.values)
		if err != nil {
			t.Errorf("%q: %v\n%s", test.values, err, out)
			continue
		}
		want := slices.DeleteFunc(append(slices.Clone(all), test.add...), func(name string) bool {
			return slices.Contains(test.without, name)
		})
		slices.Sort(want)
		if diff := cmp.Diff(want, objectsIn(fieldsOf(t, string(out)))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.values, diff)
		}
	}
	out, err := render("shard=eu,installCRDs=false")
	if err != nil {
		t.Fatalf("shard: %v\n%s", err, out)
	}
	for _, name := range objectsIn(fieldsOf(t, string(out))) {
		if !strings.HasSuffix(name, "muster-controller-eu") {
			t.Errorf("two shards share the object %s", name)
		}
	}
	for _, wrong := range []string{"replica=3", "shard=A", "image.digest=sha256:1", "namespaces=a"} {
		if out, err := render(wrong); err == nil || !strings.Contains(string(out), "schema") {
			t.Errorf("the value %s is not refused by the schema: %v\n%s", wrong, err, out)
		}
	}
}

// helm returns the path of Helm, and chart that of the chart.
func helm() string  { return filepath.Join("..", "..", "bin", "tools", "helm") }
func chart() string { return filepath.Join(deployDir, "chart", "muster-controller") }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// render returns what Helm makes of the chart with values, or its errors.
func render(values string) ([]byte, error) {
	cmd := exec.Command(helm(), "template", "muster-controller", chart(), "--namespace",
		"muster-system", "--set", values)
	out, err := cmd.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		out = failed.Stderr
	}
	return out, err
}

// manifestFields returns the fields of the manifests and definitions as the chart has them: its
// namespace is that of the release, and an uninstall keeps the definitions.
func manifestFields(t *testing.T) map[string]string {
	t.Helper()
	definitions, err := filepath.Glob(filepath.Join(deployDir, "crds", "*.yaml"))
	check(t, err)
	files, err := filepath.Glob(filepath.Join(deployDir, "manifests", "*.yaml"))
	check(t, err)
	files = append(files, definitions...)
	texts := make([]string, len(files))
	for i, file := range files {
		data, err := os.ReadFile(file)
		check(t, err)
		texts[i] = string(data)
	}
	fields := fieldsOf(t, strings.Join(texts, "\n---\n"))
	for key := range fields {
		if strings.HasPrefix(key, "Namespace ") {
			delete(fields, key)
		}
	}
	for _, name := range objectsIn(fields) {
		if strings.HasPrefix(name, "CustomResourceDefinition ") {
			fields[name+" .metadata.annotations.helm.sh/resource-policy"] = "keep"
		}
	}
	return fields
}

// fieldsOf returns the values of all fields of documents by object and path.
func fieldsOf(t *testing.T, text string) map[string]string {
	t.Helper()
	fields := map[string]string{}
	for _, document := range strings.Split("\n"+text, "\n---") {
		var obj map[string]any
		if err := yaml.Unmarshal([]byte(document), &obj); err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		if obj == nil {
			continue
		}
		metadata, _ := obj["metadata"].(map[string]any)
		name := fmt.Sprintf("%v %v", obj["kind"], metadata["name"])
		if namespace := metadata["namespace"]; namespace != nil {
			name = fmt.Sprintf("%v %v/%v", obj["kind"], namespace, metadata["name"])
		}
		addFields(fields, name+" ", obj)
	}
	return fields
}

// addFields adds the values below a path.
func addFields(fields map[string]string, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, child := range value {
			addFields(fields, path+"."+key, child)
		}
	case []any:
		for i, child := range value {
			addFields(fields, fmt.Sprintf("%s.%d", path, i), child)
		}
	default:
		fields[path] = fmt.Sprint(value)
	}
}

// objectsIn returns the objects of fields, sorted.
func objectsIn(fields map[string]string) []string {
	var names []string
	for path := range fields {
		name, _, _ := strings.Cut(path, " .")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// changedFields returns the fields that differ, by path.
func changedFields(before, after map[string]string) []string {
	var paths, lines []string
	for path, value := range before {
		if now, ok := after[path]; !ok || now != value {
			paths = append(paths, path)
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		if value, ok := before[path]; ok {
			lines = append(lines, "- "+path+" = "+value)
		}
		if value, ok := after[path]; ok {
			lines = append(lines, "+ "+path+" = "+value)
		}
	}
	return lines
}
