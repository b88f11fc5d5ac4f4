package plane

import (
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfigs writes the kubeconfig of the administrator and of each component that talks to
// the API server, all with certificates and keys inside.
func writeKubeconfigs(p paths, server string, real int) error {
	files := map[string]string{
		certAdmin:       p.kubeconfig(),
		certControllers: p.userConfig(certControllers),
		certScheduler:   p.userConfig(certScheduler),
		certKwok:        p.userConfig(certKwok),
	}
	for i := range real {
		files[realName(i)] = p.userConfig(realName(i))
	}
	for user, path := range files {
		if err := writeKubeconfig(p, server, user, path); err != nil {
			return fmt.Errorf("kubeconfig of %s: %w", user, err)
		}
	}
	return nil
}

func writeKubeconfig(p paths, server, user, path string) error {
	var blocks [3][]byte
	for i, file := range []string{p.cert(certAuthority), p.cert(user), p.key(user)} {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		blocks[i] = data
	}
	const name = "muster-local"
	config := api.NewConfig()
	config.Clusters[name] = &api.Cluster{Server: server, CertificateAuthorityData: blocks[0]}
	config.AuthInfos[user] = &api.AuthInfo{ClientCertificateData: blocks[1], ClientKeyData: blocks[2]}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: user, Namespace: "default"}
	config.CurrentContext = name
	data, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	return write(path, data)
}
