package packages

import (
	"slices"
	"testing"
)

// TestShareSecrets: what is private in a file is found wherever it stands.
func TestShareSecrets(t *testing.T) {
	const head = "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: n}"
	const secret = head + ", data: {k: djE=}}"
	const encrypted = "ENC[AES256_GCM,data:eA==,iv:aXY=,tag:dGFn,type:str]"
	found := []string{"n/secret/s"}
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"alone":     {secret, found},
		"no data":   {head + "}", nil},
		"encrypted": {head + ", data: {k: '" + encrypted + "'}, sops: {mac: m}}", nil},
		"encrypted in part": {
			head + ", data: {k: '" + encrypted + "', l: djE=}, sops: {mac: m}}", found,
		},
		"only said to be encrypted": {head + ", data: {k: djE=}, sops: {mac: m}}", found},
		"list":                      {"{apiVersion: v1, kind: List, items: [" + secret + "]}", found},
		"list as kubectl get prints it": {
			"{apiVersion: v1, kind: List, metadata: {resourceVersion: ''}, items: [" + secret + "]}", found,
		},
		"generator":      {"secretGenerator: [{name: s}]", []string{"a secretGenerator"}},
		"after an error": {"a: [\n---\n" + secret, found},
		"broken":         {"kind: Secret\ndata: {k: [}", []string{"a Secret that cannot be read"}},
		"other error":    {"kind: ConfigMap\ndata: {k: [}", nil},
	} {
		file, err := Share(t.Context(), "a.yaml", []byte(test.text))
		if err != nil || !slices.Equal(file.Secrets, test.want) {
			t.Errorf("%s: got %q, %v, want %q", name, file.Secrets, err, test.want)
		}
	}
}
