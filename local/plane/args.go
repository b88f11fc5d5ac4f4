package plane

import "strconv"

// Addresses inside the plane. Nothing routes them: services and pods have addresses, but no traffic
// reaches them.
const (
	serviceRange = "10.96.0.0/16"
	serviceIP    = "10.96.0.1" // of the service "kubernetes"
	issuer       = "https://kubernetes.default.svc.cluster.local"
)

func etcdArgs(p paths, s *state) []string {
	return []string{
		etcd,
		"--data-dir=" + p.data(),
		"--listen-client-url=" + httpsURL(s.Ports.Etcd),
		"--listen-peer-url=" + httpsURL(s.Ports.EtcdPeer),
		"--trusted-ca-file=" + p.cert(certAuthority),
		"--cert-file=" + p.cert(certEtcd),
		"--key-file=" + p.key(certEtcd),
	}
}

func apiServerArgs(p paths, s *state) []string {
	return []string{
		apiServer,
		"--etcd-servers=" + httpsURL(s.Ports.Etcd),
		"--etcd-cafile=" + p.cert(certAuthority),
		"--etcd-certfile=" + p.cert(certEtcdClient),
		"--etcd-keyfile=" + p.key(certEtcdClient),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(s.Ports.APIServer),
		"--tls-cert-file=" + p.cert(certAPIServer),
		"--tls-private-key-file=" + p.key(certAPIServer),
		"--client-ca-file=" + p.cert(certAuthority),
		"--authorization-mode=Node,RBAC",
		"--allow-privileged", // as clusters do: network plugins need it
		"--service-account-issuer=" + issuer,
		"--service-account-signing-key-file=" + p.key(keyServiceAccount),
		"--service-account-key-file=" + p.key(keyServiceAccount),
		"--service-cluster-ip-range=" + serviceRange,
		"--kubelet-certificate-authority=" + p.cert(certAuthority),
		"--kubelet-client-certificate=" + p.cert(certKubeletClient),
		"--kubelet-client-key=" + p.key(certKubeletClient),
		"--kubelet-preferred-address-types=InternalIP",
		"--endpoint-reconciler-type=none", // 127.0.0.1 is no valid endpoint of the service "kubernetes".
		"--profiling=false",
	}
}

func controllersArgs(p paths, s *state) []string {
	config := p.userConfig(certControllers)
	return []string{
		controllers,
		"--kubeconfig=" + config,
		"--authentication-kubeconfig=" + config,
		"--authorization-kubeconfig=" + config,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(s.Ports.Controllers),
		"--tls-cert-file=" + p.cert(certControllers),
		"--tls-private-key-file=" + p.key(certControllers),
		"--leader-elect=false",
		"--node-monitor-grace-period=10m", // a busy machine takes no node away
		"--root-ca-file=" + p.cert(certAuthority),
		"--service-account-private-key-file=" + p.key(keyServiceAccount),
		"--cluster-signing-cert-file=" + p.cert(certAuthority),
		"--cluster-signing-key-file=" + p.key(certAuthority),
		"--controllers=*,-node-ipam-controller,-node-route-controller,-service-lb-controller," +
			"-cloud-node-lifecycle-controller,-persistentvolume-attach-detach-controller",
		"--profiling=false",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	}
}

func schedulerArgs(p paths, s *state) []string {
	config := p.userConfig(certScheduler)
	return []string{
		scheduler,
		"--kubeconfig=" + config,
		"--authentication-kubeconfig=" + config,
		"--authorization-kubeconfig=" + config,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(s.Ports.Scheduler),
		"--tls-cert-file=" + p.cert(certScheduler),
		"--tls-private-key-file=" + p.key(certScheduler),
		"--leader-elect=false",
		"--profiling=false",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	}
}

func kwokArgs(p paths, s *state) []string {
	return []string{
		"--kubeconfig=" + p.userConfig(certKwok),
		"--nodes=" + strconv.Itoa(s.Nodes),
		"--real-nodes=" + strconv.Itoa(len(s.Real)),
		"--listen=" + address(s.Ports.Kubelet),
		"--client-ca-file=" + p.cert(certAuthority),
		"--tls-cert-file=" + p.cert(certKubelet),
		"--tls-private-key-file=" + p.key(certKubelet),
		"--log-client=" + KubeletClientName,
	}
}
