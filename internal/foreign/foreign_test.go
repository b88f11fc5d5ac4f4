package foreign

import (
	"encoding/base64"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const secretValue = "ENC[AES256_GCM,data:b3Bx,iv:aXY=,tag:dGFn,type:str]"

// TestFind finds what other tools would act on, and nothing else.
func TestFind(t *testing.T) {
	const (
		head = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
		job  = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: j\n  annotations:\n"
	)
	for name, test := range map[string]struct {
		text    string
		refused []string // texts of what is refused
		minor   []string
	}{
		"nothing": {head + "data: {k: eA==}\n", nil, nil},
		"a hook of Helm": {job + "    helm.sh/hook: pre-install,pre-upgrade\n", []string{
			`annotation "helm.sh/hook" (pre-install,pre-upgrade) makes it a hook, which Helm runs at ` +
				`that time alone`,
		}, nil},
		"a test of Helm": {job + "    helm.sh/hook: test\n", []string{
			`annotation "helm.sh/hook" (test) makes it a hook, which Helm runs at that time alone`,
		}, nil},
		"another annotation of Helm": {job + "    helm.sh/hook-weight: \"1\"\n", nil, nil},
		"a hook of both": {
			job + "    helm.sh/hook: test\n    argocd.argoproj.io/hook: PreSync\n",
			[]string{
				`annotation "helm.sh/hook" (test) makes it a hook, which Helm runs at that time alone`,
			},
			[]string{`annotation "argocd.argoproj.io/hook" (PreSync) makes it a hook, which Argo CD runs ` +
				`at that time alone`},
		},
		"an encrypted Secret": {
			head + "data: {k: \"" + secretValue + "\"}\nsops: {mac: x, version: 3.9.0}\n",
			[]string{"SOPS has encrypted it (field sops)"}, nil,
		},
		"an encrypted document of any kind": {
			"sops: {age: [{recipient: r, enc: e}], lastmodified: x}\nport: 1\n",
			[]string{"SOPS has encrypted it (field sops)"}, nil,
		},
		"another field of that name": {
			"apiVersion: example.com/v1\nkind: Tool\nmetadata: {name: t}\nsops: {enabled: true}\n", nil, nil,
		},
		"what an operator decrypts": {
			"apiVersion: isindir.github.com/v1alpha3\nkind: SopsSecret\nmetadata: {name: s}\n" +
				"spec: {k: \"" + secretValue + "\"}\nsops: {mac: x}\n", nil, nil,
		},
		"an encrypted value without the block": {
			head + "stringData: {a: plain, k: \"" + secretValue + "\"}\n",
			[]string{`SOPS has encrypted stringData "k"`}, nil,
		},
		"an encrypted value of a generator": {
			head + "data: {k: " + base64.StdEncoding.EncodeToString([]byte(secretValue+"\n")) + "}\n",
			[]string{`SOPS has encrypted data "k"`}, nil,
		},
		"a text about encrypted values": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {k: \"as " + secretValue + "\"}\n",
			nil, nil,
		},
		"annotations that are no map": {
			"apiVersion: v1\nkind: Secret\nmetadata: {annotations: [helm.sh/hook]}\nsops: x\n", nil, nil,
		},
	} {
		obj := map[string]any{}
		if err := yaml.Unmarshal([]byte(test.text), &obj); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var refused, minor []string
		for _, f := range Find(obj) {
			if f.Minor {
				minor = append(minor, f.Text)
			} else {
				refused = append(refused, f.Text)
			}
		}
		if diff := cmp.Diff(test.refused, refused); diff != "" {
			t.Errorf("%s: (-want +refused):\n%s", name, diff)
		}
		if diff := cmp.Diff(test.minor, minor); diff != "" {
			t.Errorf("%s: (-want +minor):\n%s", name, diff)
		}
	}
}
