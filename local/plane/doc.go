// Package plane starts and stops a real Kubernetes control plane on this machine: etcd,
// kube-apiserver, kube-controller-manager and kube-scheduler as child processes, and kwok, which
// simulates nodes and the life of pods.
//
// A plane lives in one folder. In go options; out comes a plane whose API server answers on
// loopback, over TLS, with a kubeconfig that names it. Several planes can run side by side. The
// package links nothing heavy: the components are programs of their own, muster-components and
// muster-kwok.
//
// It deliberately runs no containers and no kubelet, keeps no plane highly available, and upgrades
// nothing.
package plane
