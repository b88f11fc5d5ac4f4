// Package adopt reads what other tools recorded about the sets of objects that they deploy: Helm
// releases, ApplySets, the objects of Flux and Argo CD, the records of kapp and kpt, and the labels
// of kubectl apply --prune.
//
// List finds such sets. Read describes one of them in a form that is the same for all tools: its
// objects as the tool applies them, and what would delete them or change them back. The package
// knows the formats of other tools and decides nothing: it writes neither objects nor files.
package adopt

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Tool is a program whose sets can be adopted.
type Tool string

// The tools. A Selector is what somebody deployed with kubectl and finds by labels.
const (
	Helm     Tool = "helm"
	ApplySet Tool = "applyset"
	Flux     Tool = "flux"
	ArgoCD   Tool = "argocd"
	Kapp     Tool = "kapp"
	Kpt      Tool = "kpt"
	Selector Tool = "selector"
)

// The kinds of records.
var (
	secretKind     = schema.GroupKind{Kind: "Secret"}
	configMapKind  = schema.GroupKind{Kind: "ConfigMap"}
	definitionKind = schema.GroupKind{
		Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition",
	}
	kustomizationKind = schema.GroupKind{
		Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization",
	}
	helmReleaseKind = schema.GroupKind{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"}
	applicationKind = schema.GroupKind{Group: "argoproj.io", Kind: "Application"}
)
