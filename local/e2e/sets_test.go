package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// setScript deploys a set as a package and as an app. Applying it again changes nothing, and a plan
// of it says so. %[1]s lists the objects of its definitions before they are deleted: the API server
// needs minutes to delete the definition of a resource that it does not serve yet. %[2]s is the
// name of the package: sets may be in one namespace. Some manifests have fields that no server
// knows.
const setScript = `
exec muster init pkg --name %[2]s --quiet
exec muster apply pkg --validate=warn --reconcile-timeout=10m
exec muster apply pkg --validate=warn --reconcile-timeout=10m
stdout '^[0-9]+ resource\(s\) applied. 0 created, [0-9]+ unchanged, 0 configured, 0 failed$'
exec muster plan pkg --exit-code --validate=warn
%[1]s
exec muster destroy pkg --yes
exec muster apply -a set -f pkg/objects.yaml --yes --validate=warn --reconcile-timeout=10m
exec muster apply -a set -f pkg/objects.yaml --yes --validate=warn --reconcile-timeout=10m
stdout '^[0-9]+ resource\(s\) applied. 0 created, [0-9]+ unchanged, 0 configured, 0 failed$'
exec muster plan -a set -f pkg/objects.yaml --exit-code --validate=warn
%[1]s
exec muster destroy -a set --yes
`

// kubernetesSets are sets of manifests of Kubernetes, which are read from its module.
var kubernetesSets = map[string][]string{
	"calico": {"cluster/addons/calico-policy-controller/*[dt].yaml",
		"cluster/addons/calico-policy-controller/*-configmap.yaml"},
	"cassandra":        {"test/e2e/testing-manifests/statefulset/cassandra/[cps]*.yaml"},
	"csi-hostpath":     {"test/e2e/testing-manifests/storage-csi/hostpath/hostpath/*-plugin.yaml"},
	"glbc":             {"cluster/addons/cluster-loadbalancing/glbc/*.yaml"},
	"guestbook":        {"test/e2e/testing-manifests/guestbook/*.yaml"},
	"ip-masq-agent":    {"cluster/addons/ip-masq-agent/*.yaml"},
	"problem-detector": {"cluster/addons/node-problem-detector/npd.yaml"},
	"rbac":             {"cluster/addons/rbac/[ck]*/*.yaml"},
	"volume-snapshots": {"cluster/addons/volumesnapshots/crd/*.yaml"},
	"zookeeper":        {"test/e2e/testing-manifests/statefulset/zookeeper/*.yaml"},
}

// TestSets deploys sets in the shape of well-known projects (testdata/sets) and manifests of
// Kubernetes. Their objects need not be ready if they say so.
func TestSets(t *testing.T) {
	p := params("sets")
	own, err := filepath.Glob(filepath.Join(p.Dir, "*.yaml"))
	if err != nil || len(own) == 0 {
		t.Fatalf("found %d sets: %v", len(own), err)
	}
	p.Dir = t.TempDir()
	for _, file := range own {
		writeSet(t, p.Dir, strings.TrimSuffix(filepath.Base(file), ".yaml"), []string{file})
	}
	module := kubernetesModule(t)
	for name, patterns := range kubernetesSets {
		var files []string
		for _, pattern := range patterns {
			found, err := filepath.Glob(filepath.Join(module, pattern))
			if err != nil || len(found) == 0 {
				t.Fatalf("%s: found %d files: %v", pattern, len(found), err)
			}
			files = append(files, found...)
		}
		writeSet(t, p.Dir, name, files)
	}
	testscript.Run(t, p)
}

// writeSet writes the script for the manifests in some files.
func writeSet(t *testing.T, dir, name string, files []string) {
	t.Helper()
	manifests, lists := "", ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		manifests += fmt.Sprintf("---\n%s\n", text)
		for _, resource := range definedResources(t, text) {
			lists += "exec kubectl get --all-namespaces " + resource + "\n"
		}
	}
	script := fmt.Sprintf(setScript, lists, name) + "-- pkg/objects.yaml --\n" + manifests
	if err := os.WriteFile(filepath.Join(dir, name+".txtar"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
}

// definedResources returns the resources that the definitions in a manifest serve, as PLURAL.GROUP.
func definedResources(t *testing.T, manifest []byte) []string {
	t.Helper()
	var resources []string
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for {
		var object unstructured.Unstructured
		switch err := decoder.Decode(&object.Object); {
		case errors.Is(err, io.EOF):
			return resources
		case err != nil:
			t.Fatal(err)
		case object.GetKind() == "CustomResourceDefinition": // its name is PLURAL.GROUP
			resources = append(resources, object.GetName())
		}
	}
}

// kubernetesModule returns the folder of the module k8s.io/kubernetes.
func kubernetesModule(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
