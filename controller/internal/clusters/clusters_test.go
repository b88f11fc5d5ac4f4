package clusters

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
)

// token is in no error.
const token = "hunter2"

// secrets is a cluster with Secrets, by name.
type secrets struct {
	client.Reader
	data map[string]map[string][]byte
}

func (s secrets) Get(
	_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption,
) error {
	data, ok := s.data[key.Name]
	if !ok || key.Namespace != "shop" {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}
	into.(*corev1.Secret).Data = data
	return nil
}

// setOf returns a Set in the cluster of the kubeconfig in a Secret; in its own without a name.
func setOf(name, secret string) *v1alpha1.Set {
	set := &v1alpha1.Set{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	if secret != "" {
		set.Spec.Cluster = &v1alpha1.ClusterSpec{
			KubeconfigSecretRef: v1alpha1.KubeconfigReference{Name: secret},
		}
	}
	return set
}

// kubeconfig returns a kubeconfig with fields of its cluster and of its user.
func kubeconfig(cluster, user string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: main
contexts:
- {name: main, context: {cluster: far, user: admin}}
- {name: other, context: {cluster: broken, user: broken}}
clusters:
- {name: far, cluster: {%s}}
- {name: broken, cluster: {server: "http://broken", insecure-skip-tls-verify: true}}
users:
- {name: admin, user: {%s}}
- {name: broken, user: {tokenFile: /etc/passwd}}
`, cluster, user)
}

const (
	server   = `server: "https://far.example.com:6443"`
	withUser = `token: ` + token
)

// TestReadKubeconfig: what would run programs, read files of the controller, or trust any server is
// refused, with the name of the field, and without values.
func TestReadKubeconfig(t *testing.T) {
	exec := `exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: [` + token + `]}`
	for _, test := range []struct{ name, kubeconfig, want string }{
		{"valid", string(kubeconfig(server, withUser)), ""},
		{"plugin", string(kubeconfig(server, exec)), `user "admin": exec: `},
		{"old plugin", string(kubeconfig(server, `auth-provider: {name: gcp, config: {k: `+token+`}}`)),
			`user "admin": auth-provider: `},
		{"certificate file", string(kubeconfig(server, `client-certificate: /a, client-key: /b`)),
			`user "admin": client-certificate: `},
		{"key file", string(kubeconfig(server, `client-key: /b, `+withUser)),
			`user "admin": client-key: `},
		{"token file", string(kubeconfig(server, `tokenFile: /a, `+withUser)),
			`user "admin": tokenFile: `},
		{"password", string(kubeconfig(server, `username: ann, password: `+token)),
			`user "admin": username: `},
		{"impersonation", string(kubeconfig(server, `as: root, `+withUser)), `user "admin": as: `},
		{"impersonated groups", string(kubeconfig(server, `as-groups: [a], `+withUser)),
			`user "admin": as: `},
		{"certificate without a key", string(kubeconfig(server, `client-certificate-data: YQ==`)),
			`user "admin": client-key-data: `},
		{"anonymous", string(kubeconfig(server, "")), `user "admin": token: `},
		{"authority file", string(kubeconfig(server+`, certificate-authority: /a`, withUser)),
			`cluster "far": certificate-authority: `},
		{"no verification", string(kubeconfig(server+`, insecure-skip-tls-verify: true`, withUser)),
			`cluster "far": insecure-skip-tls-verify: `},
		{"plain HTTP", string(kubeconfig(`server: "http://far"`, withUser)), `cluster "far": server: `},
		{"no server", string(kubeconfig("", withUser)), `cluster "far": server: `},
		{"credentials in the address", string(kubeconfig(`server: "https://a:`+token+`@far"`, withUser)),
			`cluster "far": server: `},
		{"proxy", string(kubeconfig(server+`, proxy-url: "http://a:`+token+`@proxy"`, withUser)),
			`cluster "far": proxy-url: `},
		{"no certificate", string(kubeconfig(server+`, certificate-authority-data: aHVudGVyMg==`,
			withUser)), "certificates: "},
		{"no context", "apiVersion: v1\nkind: Config\n", `current-context: there is no context ""`},
		{"unknown context", "current-context: x", `current-context: there is no context "x"`},
		{"unknown cluster", "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]",
			`context "x": there is no cluster "c"`},
		{"no YAML", "users:\n- token: " + token + "\n a: b", "it is no kubeconfig: line 2 is not valid"},
		{"text", token, "it is no kubeconfig"},
	} {
		reader := secrets{data: map[string]map[string][]byte{"prod": {"value": []byte(test.kubeconfig)}}}
		_, err := ReadKubeconfig(t.Context(), reader, setOf("shop", "prod"))
		if test.want == "" {
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		checkRefused(t, test.name, err, "spec.cluster: Secret shop/prod, key value: "+test.want)
	}
}

// checkRefused checks an error about a Secret, and that it has no value of it.
func checkRefused(t *testing.T, name string, err error, want string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), token) {
		t.Errorf("%s: got %v, want %s", name, err, want)
	}
	if refused := (*KubeconfigError)(nil); !errors.As(err, &refused) {
		t.Errorf("%s: %v is no KubeconfigError", name, err)
	}
}

// TestKeys: the key of the Set counts, else the first one of the defaults. That the Secret is
// missing may be over the next time.
func TestKeys(t *testing.T) {
	good, set := kubeconfig(server, withUser), setOf("shop", "prod")
	reader := secrets{data: map[string]map[string][]byte{"prod": {
		"kubeconfig": good, "admin.conf": []byte("text"),
	}}}
	if _, err := ReadKubeconfig(t.Context(), reader, set); err != nil {
		t.Error(err)
	}
	set.Spec.Cluster.KubeconfigSecretRef.Key = "admin.conf"
	_, err := ReadKubeconfig(t.Context(), reader, set)
	checkRefused(t, "key", err, "spec.cluster: Secret shop/prod, key admin.conf: it is no kubeconfig")
	set.Spec.Cluster.KubeconfigSecretRef.Key = "value"
	_, err = ReadKubeconfig(t.Context(), reader, set)
	checkRefused(t, "missing key", err, "spec.cluster: Secret shop/prod has no key value")
	reader.data["prod"] = map[string][]byte{}
	set.Spec.Cluster.KubeconfigSecretRef.Key = ""
	_, err = ReadKubeconfig(t.Context(), reader, set)
	checkRefused(t, "empty", err, "spec.cluster: Secret shop/prod has no key value or kubeconfig")
	_, err = ReadKubeconfig(t.Context(), reader, setOf("shop", "gone"))
	if refused := (*KubeconfigError)(nil); !apierrors.IsNotFound(err) || errors.As(err, &refused) ||
		!strings.HasPrefix(err.Error(), "spec.cluster: read Secret shop/gone: ") {
		t.Errorf("got %v", err)
	}
}

// TestPool: Sets with one user in one cluster share a connection, which is forgotten with the last
// of them. Another content of the Secret is another connection.
func TestPool(t *testing.T) {
	good := kubeconfig(server, withUser)
	reader := secrets{data: map[string]map[string][]byte{
		"prod": {"value": good}, "copy": {"value": good},
	}}
	p := NewPool(&rest.Config{Host: "https://own", BearerToken: "own"}, reader, "test", nil)
	as := func(name, secret, account string) *Identity {
		t.Helper()
		i, err := p.As(t.Context(), setOf(name, secret), account)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	own, far := as("a", "", "deployer"), as("b", "prod", "deployer")
	if own.Config.Host != "https://own" || own.Owner != nil || own.Key == far.Key {
		t.Errorf("the own cluster is %s (%q, %q)", own.Config.Host, own.Key, far.Key)
	}
	if u := far.Config.Impersonate.UserName; u != "system:serviceaccount:shop:deployer" ||
		far.Owner.Impersonate.UserName != "" || far.Config.Host != "https://far.example.com:6443" ||
		far.Config.BearerToken != token {
		t.Errorf("the other cluster is %s, as %q", far.Config.Host, u)
	}
	if admin := as("c", "prod", ""); admin.Config.Impersonate.UserName != "" || admin.Key == far.Key {
		t.Errorf("without a service account %q is impersonated", admin.Config.Impersonate.UserName)
	}
	if as("d", "copy", "deployer") != far || as("b", "prod", "deployer") != far {
		t.Error("the same kubeconfig has two connections")
	}
	reader.data["prod"]["value"] = append(good[:len(good):len(good)], '\n')
	if moved := as("b", "prod", "deployer"); moved == far || moved.Key == far.Key {
		t.Error("another content of the Secret has the same connection")
	}
	for _, name := range []string{"a", "b", "c"} {
		p.Forget(client.ObjectKey{Namespace: "shop", Name: name})
	}
	if len(p.identities) != 1 {
		t.Errorf("%d connections are kept, want 1", len(p.identities))
	}
	if as("e", "copy", "deployer") != far {
		t.Error("the connection is forgotten before the last Set")
	}
	delete(reader.data, "copy")
	for _, name := range []string{"d", "e"} {
		if _, err := p.As(t.Context(), setOf(name, "copy"), "deployer"); !apierrors.IsNotFound(err) {
			t.Errorf("got %v", err)
		}
	}
	if len(p.identities)+len(p.users) > 0 {
		t.Errorf("%d connections of %d Sets are left", len(p.identities), len(p.users))
	}
}
