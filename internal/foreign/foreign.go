// Package foreign finds in manifests what is meant for other tools: hooks of Helm and of Argo CD,
// and values that SOPS has encrypted.
//
// muster has no hooks and decrypts nothing. It would deploy a hook as every other object, at any
// time and for good, and an encrypted value as it stands. Find says what there is; readers of
// manifests decide what becomes of it.
package foreign

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Finding is a place of an object that is meant for another tool.
type Finding struct {
	Path  []string // the keys of the field
	Text  string   // what it is
	Fate  string   // what muster makes of it, if it deploys the object
	Way   string   // what to do instead
	Minor bool     // it is no reason to refuse the object
}

// Refusal returns the finding as an error.
func (f Finding) Refusal() string { return f.Text + "; " + f.Way }

// Warning returns the finding as a warning.
func (f Finding) Warning() string { return f.Text + "; " + f.Fate }

// The annotations that make an object a hook.
const (
	helmHook = "helm.sh/hook"
	argoHook = "argocd.argoproj.io/hook"
)

// asOthers is what becomes of a hook.
const asOthers = "here it is deployed as every other object"

// Find returns the findings of an object, which may be any map. Values that are encrypted come
// first, and then one finding stands for all.
func Find(obj map[string]any) []Finding {
	var found []Finding
	if f := encrypted(obj); f != nil {
		found = append(found, *f)
	}
	metadata, _ := obj["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if value, ok := annotations[helmHook]; ok {
		found = append(found, Finding{
			Path: []string{"metadata", "annotations", helmHook},
			Text: fmt.Sprintf(
				"annotation %q (%v) makes it a hook, which Helm runs at that time alone", helmHook, value,
			),
			Fate: asOthers,
			Way: "muster has no hooks: render the chart without them (helm template --no-hooks), or " +
				"remove the annotation to deploy it as every other object",
		})
	}
	if value, ok := annotations[argoHook]; ok {
		found = append(found, Finding{
			Path: []string{"metadata", "annotations", argoHook},
			Text: fmt.Sprintf(
				"annotation %q (%v) makes it a hook, which Argo CD runs at that time alone", argoHook, value,
			),
			Fate: asOthers, Minor: true,
		})
	}
	return found
}

// decrypt is what to do about an encrypted document.
const decrypt = "muster does not decrypt: pipe what 'sops decrypt' prints into muster, or leave " +
	"the file out and let who decrypts it deploy it"

// sealed is what becomes of encrypted values.
const sealed = "here it is deployed encrypted"

// encrypted returns the finding of an object that SOPS has encrypted, or nil.
func encrypted(obj map[string]any) *Finding {
	if kind, _ := obj["kind"].(string); slices.Contains(decryptedLater, kind) {
		return nil
	}
	if block, ok := obj[sopsKey].(map[string]any); ok && isSopsBlock(block) {
		return &Finding{
			Path: []string{sopsKey}, Text: "SOPS has encrypted it (field sops)", Fate: sealed, Way: decrypt,
		}
	}
	if obj["apiVersion"] != "v1" || obj["kind"] != "Secret" && obj["kind"] != "ConfigMap" {
		return nil
	}
	for _, field := range []string{"data", "stringData", "binaryData"} {
		values, _ := obj[field].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if IsEncrypted(values[key]) {
				return &Finding{
					Path: []string{field, key}, Text: fmt.Sprintf("SOPS has encrypted %s %q", field, key),
					Fate: sealed, Way: decrypt,
				}
			}
		}
	}
	return nil
}

// decryptedLater are the kinds of objects that operators decrypt in the cluster.
var decryptedLater = []string{"SopsSecret", "GlobalSopsSecret"}

// sopsKey is the key of the block that SOPS adds to a document.
const sopsKey = "sops"

// sopsFields are keys of that block.
var sopsFields = []string{
	"mac", "lastmodified", "age", "azure_kv", "gcp_kms", "hc_vault", "key_groups", "kms", "pgp",
}

// isSopsBlock reports whether a map is what SOPS notes about a document.
func isSopsBlock(block map[string]any) bool {
	return slices.ContainsFunc(sopsFields, func(key string) bool { return block[key] != nil })
}

// encryptedValue matches a value that SOPS has encrypted.
var encryptedValue = regexp.MustCompile(`^ENC\[AES256_GCM,data:[^\]]*\]$`)

// IsEncrypted reports whether SOPS has encrypted a value, which may be in base64.
func IsEncrypted(value any) bool {
	text, _ := value.(string)
	text = strings.TrimSpace(text)
	if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
		text = strings.TrimSpace(string(plain))
	}
	return encryptedValue.MatchString(text)
}
