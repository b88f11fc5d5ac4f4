package plan

import "strings"

// ManagerClass is what a field manager stands for.
type ManagerClass string

// The classes. An unknown manager counts as a controller: the tools that people use are known,
// controllers have any name, and a field that is left to its owner can still be taken later.
const (
	Human      ManagerClass = "human"      // runs when somebody starts it, and sets a field once
	Controller ManagerClass = "controller" // runs by itself, and sets a field again
	Unknown    ManagerClass = "unknown"
)

// managerClasses are the classes of managers by the beginnings of their names in lower case. The
// first entry that matches counts. A name that ends with a dollar sign matches as a whole, and one
// that begins with an asterisk the end of a manager's.
var managerClasses = []struct {
	class ManagerClass
	names []string
}{
	{Human, []string{
		"kubectl", "oc$", "oc-", "kustomize$", "muster", "kpt", "kapp$", "kapp-server$",
		"helm$", "helmfile", "werf", "nelm", "terraform", "hashicorp", "opentofu", "tofu$",
		"pulumi", "tanka", "timoni", "skaffold", "tilt$", "ansible", "k9s", "lens$",
		"open-lens", "openlens", "freelens", "node-fetch", "headlamp", "dashboard$",
		"kubernetes-dashboard", "rancher$", "mozilla", "curl$", "before-first-apply$",
	}},
	{Controller, []string{
		"kube-controller-manager", "kube-scheduler", "kubelet", "kube-apiserver", "apiserver",
		"cloud-controller-manager", "horizontal-pod-autoscaler", "vpa-",
		"vertical-pod-autoscaler", "admission-controller", "keda", "cluster-autoscaler",
		"karpenter", "cainjector", "ca-injector", "cert-manager", "pilot-discovery", "istio",
		"linkerd", "argocd", "argo-", "flux", "kustomize-controller", "helm-controller",
		"source-controller", "image-automation-controller", "kapp-controller", "config-sync",
		"configsync", "crossplane", "fleetagent", "rancher-", "gke-", "eks$", "eks-", "aks-",
		"prometheus-operator", "operator", "*-controller", "*-controller-manager", "*-operator",
	}},
}

// ClassOf returns the class of a field manager.
func ClassOf(manager string) ManagerClass {
	manager = strings.ToLower(manager)
	for _, entry := range managerClasses {
		for _, name := range entry.names {
			if matches(manager, name) {
				return entry.class
			}
		}
	}
	return Unknown
}

func matches(manager, name string) bool {
	if whole, ok := strings.CutSuffix(name, "$"); ok {
		return manager == whole
	}
	if end, ok := strings.CutPrefix(name, "*"); ok {
		return strings.HasSuffix(manager, end)
	}
	return strings.HasPrefix(manager, name)
}
