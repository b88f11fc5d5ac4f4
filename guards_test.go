package muster

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/muster-deploy/muster/internal/cluster"
)

// noServer is the transport of a cluster that must not be asked.
type noServer struct{ asked []string }

func (s *noServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	return nil, errors.New("there is no server")
}

// TestForeign: what is meant for other tools is refused when a set is opened, by default and for
// both kinds, without a request.
func TestForeign(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"hook": {"{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: shop, " +
			"annotations: {helm.sh/hook: pre-install}}}", "helm.sh/hook"},
		"encrypted": {"apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: shop}\n" +
			"stringData: {a: 'ENC[AES256_GCM,data:xyz,iv:a,tag:b,type:str]'}\nsops: {mac: x}\n", "SOPS"},
		"duplicate": {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, " +
			"data: {a: x, a: y}}", "already"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		server := &noServer{}
		c, err := Connect(&rest.Config{Host: "https://near", Transport: server}, ConnectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		err = os.WriteFile(filepath.Join(dir, "resourcegroup.yaml"), []byte(`{apiVersion: kpt.dev/v1alpha1,
kind: ResourceGroup, metadata: {name: shop, namespace: shop,
labels: {cli-utils.sigs.k8s.io/inventory-id: shop}}}`), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []Source{{Kind: Package}, {Kind: App, Name: "shop"}} {
			s.Namespace, s.Files = "shop", []string{dir}
			_, err = Open(t.Context(), c, s)
			if err == nil || !strings.Contains(err.Error(), test.want) ||
				!strings.Contains(err.Error(), "a.yaml") {
				t.Errorf("%s in a set of kind %s: %v, want %q and the file", name, s.Kind, err, test.want)
			}
		}
		if len(server.asked) > 0 {
			t.Errorf("%s: requests before it was refused: %q", name, server.asked)
		}
	}
}

// TestStrictByDefault: without options the fields of what is written are validated, here and by the
// server; those of a revision, which was accepted before, are not refused.
func TestStrictByDefault(t *testing.T) {
	for _, test := range []struct {
		validate string
		revision int
		want     string
	}{
		{"", 0, cluster.FieldsStrict},
		{ValidateStrict, 0, cluster.FieldsStrict},
		{"", 3, ""},
		{ValidateWarn, 0, ""},
		{ValidateIgnore, 0, cluster.FieldsIgnore},
	} {
		got := (&Set{revision: test.revision}).fieldValidation(PlanOptions{Validate: test.validate})
		if got != test.want {
			t.Errorf("validate %q, revision %d: the server is asked for %q, want %q", test.validate,
				test.revision, got, test.want)
		}
	}
	if mode, err := (PlanOptions{}).validation(); mode != ValidateStrict || err != nil {
		t.Errorf("the default is %q, %v", mode, err)
	}
	if _, err := (PlanOptions{Validate: "no"}).validation(); err == nil {
		t.Error("an invalid mode is no error")
	}
}
