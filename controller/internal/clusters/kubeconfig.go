package clusters

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
)

// defaultKeys are the keys of a Secret that may have a kubeconfig; the first one counts.
var defaultKeys = []string{"value", "kubeconfig"}

// KubeconfigError reports a Secret whose kubeconfig cannot be used without a change of it. It has
// no values of the kubeconfig but names.
type KubeconfigError struct{ err error }

func (e *KubeconfigError) Error() string { return e.err.Error() }

// Unwrap returns what is wrong with the kubeconfig.
func (e *KubeconfigError) Unwrap() error { return e.err }

// Kubeconfig is the connection to another cluster.
type Kubeconfig struct {
	config *rest.Config
	digest string // of the text
}

// ReadKubeconfig returns the kubeconfig that spec.cluster of a Set names. The error is a
// *KubeconfigError if the Secret exists, and has none that may be used.
func ReadKubeconfig(
	ctx context.Context, reader client.Reader, set *v1alpha1.Set,
) (*Kubeconfig, error) {
	ref, secret := set.Spec.Cluster.KubeconfigSecretRef, &corev1.Secret{}
	name := client.ObjectKey{Namespace: set.Namespace, Name: ref.Name}
	if err := reader.Get(ctx, name, secret); err != nil {
		return nil, fmt.Errorf("spec.cluster: read Secret %s: %w", name, err)
	}
	keys := defaultKeys
	if ref.Key != "" {
		keys = []string{ref.Key}
	}
	for _, key := range keys {
		text := secret.Data[key]
		if len(text) == 0 {
			continue
		}
		config, err := parseKubeconfig(text)
		if err != nil {
			return nil, &KubeconfigError{fmt.Errorf("spec.cluster: Secret %s, key %s: %w", name, key, err)}
		}
		sum := sha256.Sum256(text)
		return &Kubeconfig{config, hex.EncodeToString(sum[:])}, nil
	}
	return nil, &KubeconfigError{fmt.Errorf("spec.cluster: Secret %s has no key %s", name,
		strings.Join(keys, " or "))}
}

// parseKubeconfig returns the connection of the current context. What would run programs, read
// files of the controller or trust any server is refused.
func parseKubeconfig(text []byte) (*rest.Config, error) {
	file, err := clientcmd.Load(text)
	if err != nil {
		return nil, unreadable(err)
	}
	current := file.Contexts[file.CurrentContext]
	if current == nil {
		return nil, fmt.Errorf("current-context: there is no context %q", file.CurrentContext)
	}
	server, user := file.Clusters[current.Cluster], file.AuthInfos[current.AuthInfo]
	switch {
	case server == nil:
		return nil, fmt.Errorf("context %q: there is no cluster %q", file.CurrentContext, current.Cluster)
	case user == nil:
		return nil, fmt.Errorf("context %q: there is no user %q", file.CurrentContext, current.AuthInfo)
	}
	err = errors.Join(checkServer(current.Cluster, server), checkUser(current.AuthInfo, user))
	if err != nil {
		return nil, err
	}
	config := &rest.Config{
		Host: server.Server, BearerToken: user.Token,
		DisableCompression: true, // so that the limit of answers counts what they take
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: server.TLSServerName, CAData: server.CertificateAuthorityData,
			CertData: user.ClientCertificateData, KeyData: user.ClientKeyData,
		},
	}
	if _, err := rest.TLSConfigFor(config); err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	return config, nil
}

// line matches the line of a mistake in YAML.
var line = regexp.MustCompile(`line \d+`)

// unreadable returns an error about a text that is no kubeconfig. What parsers say may have parts
// of the text, which may be secret.
func unreadable(err error) error {
	if at := line.FindString(err.Error()); at != "" {
		return fmt.Errorf("it is no kubeconfig: %s is not valid", at)
	}
	return errors.New("it is no kubeconfig")
}

// refusal is a field with which a kubeconfig is not used.
type refusal struct {
	field   string
	refused bool
	why     string
}

// first returns the first refusal as an error about an entry, as in: cluster "prod".
func first(entry string, all []refusal) error {
	for _, r := range all {
		if r.refused {
			return fmt.Errorf("%s: %s: %s", entry, r.field, r.why)
		}
	}
	return nil
}

// noFiles is why paths of files are refused, before the field that has their content.
const noFiles = "the controller reads no files for a kubeconfig: use "

func checkServer(name string, c *api.Cluster) error {
	u, err := url.Parse(c.Server)
	return first(fmt.Sprintf("cluster %q", name), []refusal{
		{
			"server", err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil,
			"it has to be https://HOST[:PORT], without credentials",
		},
		{
			"insecure-skip-tls-verify", c.InsecureSkipTLSVerify,
			"the certificate of the server is always verified: use certificate-authority-data",
		},
		{
			"certificate-authority", c.CertificateAuthority != "",
			noFiles + "certificate-authority-data",
		},
		{"proxy-url", c.ProxyURL != "", "proxies are not supported"},
	})
}

func checkUser(name string, u *api.AuthInfo) error {
	const noPrograms = "the controller runs no plugins: use a token or a client certificate"
	impersonates := u.Impersonate != "" || u.ImpersonateUID != "" || len(u.ImpersonateGroups) > 0 ||
		len(u.ImpersonateUserExtra) > 0
	certificate, key := len(u.ClientCertificateData) > 0, len(u.ClientKeyData) > 0
	return first(fmt.Sprintf("user %q", name), []refusal{
		{"exec", u.Exec != nil, noPrograms},
		{"auth-provider", u.AuthProvider != nil, noPrograms},
		{"client-certificate", u.ClientCertificate != "", noFiles + "client-certificate-data"},
		{"client-key", u.ClientKey != "", noFiles + "client-key-data"},
		{"tokenFile", u.TokenFile != "", noFiles + "token"},
		{
			"username", u.Username != "" || u.Password != "",
			"passwords are not supported: use a token or a client certificate",
		},
		{"as", impersonates, "spec.serviceAccountName names whom the user impersonates"},
		{
			"client-key-data", certificate != key,
			"client-certificate-data and client-key-data belong together",
		},
		{"token", u.Token == "" && !certificate, "there is neither a token nor a client certificate"},
	})
}
