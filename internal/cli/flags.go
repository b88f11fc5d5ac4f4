package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
)

// clusterFlags are kubectl's flags for the cluster and the user.
type clusterFlags struct {
	path      string // of the kubeconfig
	cache     string
	extra     []string
	overrides clientcmd.ConfigOverrides
}

func (f *clusterFlags) add(flags *pflag.FlagSet) {
	cluster, user, context := &f.overrides.ClusterInfo, &f.overrides.AuthInfo, &f.overrides.Context
	text := func(value *string, name, usage string) { flags.StringVar(value, name, "", usage) }
	text(&f.path, "kubeconfig", "path to the kubeconfig file")
	text(
		&f.cache, "cache-dir", "cache directory (default: KUBECACHEDIR, else the user's cache directory)",
	)
	text(&f.overrides.CurrentContext, "context", "name of the kubeconfig context to use")
	text(&context.Cluster, "cluster", "name of the kubeconfig cluster to use")
	text(&context.AuthInfo, "user", "name of the kubeconfig user to use")
	flags.StringVarP(
		&context.Namespace, "namespace", "n", "", "namespace to use instead of that of the context",
	)
	flags.StringVarP(
		&cluster.Server, "server", "s", "", "address and port of the Kubernetes API server",
	)
	text(&cluster.CertificateAuthority, "certificate-authority",
		"path to a cert file for the certificate authority")
	text(&cluster.TLSServerName, "tls-server-name",
		"server name to use for server certificate validation (default: the hostname of the server)")
	flags.BoolVar(
		&cluster.InsecureSkipTLSVerify,
		"insecure-skip-tls-verify",
		false,
		"if true, the server's certificate will not be checked for validity; this makes HTTPS "+
			"connections insecure",
	)
	flags.BoolVar(&cluster.DisableCompression, "disable-compression", false,
		"if true, opt out of response compression for all requests to the server")
	text(&user.ClientCertificate, "client-certificate", "path to a client certificate file for TLS")
	text(&user.ClientKey, "client-key", "path to a client key file for TLS")
	text(&user.Token, "token", "bearer token for authentication to the API server")
	text(&user.Impersonate, "as", "username to impersonate; may be a service account")
	text(&user.ImpersonateUID, "as-uid", "UID to impersonate")
	flags.StringArrayVar(
		&user.ImpersonateGroups, "as-group", nil, "group to impersonate; may be repeated",
	)
	flags.StringArrayVar(
		&f.extra, "as-user-extra", nil, "KEY=VALUE of user extras to impersonate; may be repeated",
	)
	flags.StringVar(&f.overrides.Timeout, "request-timeout", "0",
		"time to wait for a single request, as 30s or 2m; 0 means no timeout")
}

// cacheDir returns the cache folder, empty if there is none.
func (f *clusterFlags) cacheDir() string {
	dir := f.cache
	if dir == "" {
		dir = os.Getenv("KUBECACHEDIR")
	}
	if dir == "" {
		dir, _ = os.UserCacheDir() // without a home folder there is no cache
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "muster")
}

// loader returns the configuration by kubectl's rules: the flags, else KUBECONFIG, else the file in
// the home folder.
func (f *clusterFlags) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.DefaultClientConfig = &clientcmd.DefaultClientConfig
	rules.ExplicitPath = f.path
	overrides := f.overrides
	overrides.ClusterDefaults = clientcmd.ClusterDefaults
	for _, pair := range f.extra {
		if key, value, ok := strings.Cut(pair, "="); ok {
			if overrides.AuthInfo.ImpersonateUserExtra == nil {
				overrides.AuthInfo.ImpersonateUserExtra = map[string][]string{}
			}
			overrides.AuthInfo.ImpersonateUserExtra[key] = append(
				overrides.AuthInfo.ImpersonateUserExtra[key], value,
			)
		}
	}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &overrides)
}
