package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
)

// clusterFlags are kubectl's flags that say which cluster is meant and who one is there.
type clusterFlags struct {
	path      string // of the kubeconfig
	cache     string
	extra     []string
	overrides clientcmd.ConfigOverrides
}

func (f *clusterFlags) add(flags *pflag.FlagSet) {
	cluster, user, context := &f.overrides.ClusterInfo, &f.overrides.AuthInfo, &f.overrides.Context
	flags.StringVar(&f.path, "kubeconfig", "", "path of the kubeconfig")
	flags.StringVar(&f.cache, "cache-dir", "", "folder of what is kept between runs (default: KUBECACHEDIR, or that of the user)")
	flags.StringVar(&f.overrides.CurrentContext, "context", "", "context of the kubeconfig to use")
	flags.StringVar(&context.Cluster, "cluster", "", "cluster of the kubeconfig to use")
	flags.StringVar(&context.AuthInfo, "user", "", "user of the kubeconfig to use")
	flags.StringVarP(&context.Namespace, "namespace", "n", "", "namespace to use instead of that of the context")
	flags.StringVarP(&cluster.Server, "server", "s", "", "address and port of the API server")
	flags.StringVar(&cluster.CertificateAuthority, "certificate-authority", "", "path of the certificate of the authority that vouches for the server")
	flags.StringVar(&cluster.TLSServerName, "tls-server-name", "", "name that the server's certificate must be for; without it that of its address")
	flags.BoolVar(&cluster.InsecureSkipTLSVerify, "insecure-skip-tls-verify", false, "believe any certificate, which leaves the connection open to attacks")
	flags.BoolVar(&cluster.DisableCompression, "disable-compression", false, "have the server send its answers uncompressed")
	flags.StringVar(&user.ClientCertificate, "client-certificate", "", "path of a certificate to be known to the server by")
	flags.StringVar(&user.ClientKey, "client-key", "", "path of the key of --client-certificate")
	flags.StringVar(&user.Token, "token", "", "bearer token to be known to the server by")
	flags.StringVar(&user.Impersonate, "as", "", "user to act as; may be a service account")
	flags.StringVar(&user.ImpersonateUID, "as-uid", "", "UID to act with")
	flags.StringArrayVar(&user.ImpersonateGroups, "as-group", nil, "group to act with; may be given several times")
	flags.StringArrayVar(&f.extra, "as-user-extra", nil, "KEY=VALUE of extra information to act with; may be given several times")
	flags.StringVar(&f.overrides.Timeout, "request-timeout", "0", "longest time for one request, as 30s or 2m; 0 is no limit")
}

// keep is the folder of what is kept between runs; empty where there is none.
func (f *clusterFlags) keep() string {
	dir := f.cache
	if dir == "" {
		dir = os.Getenv("KUBECACHEDIR")
	}
	if dir == "" {
		dir, _ = os.UserCacheDir() // without a home nothing is kept
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "muster")
}

// loader finds the cluster by kubectl's rules: the flags, else KUBECONFIG, else the file in the home folder.
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
			overrides.AuthInfo.ImpersonateUserExtra[key] = append(overrides.AuthInfo.ImpersonateUserExtra[key], value)
		}
	}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &overrides)
}
