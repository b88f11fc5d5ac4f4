// Package adopt reads what other tools recorded about the sets of objects that they deploy: Helm
// releases, ApplySets, the objects of Flux and Argo CD, the records of kapp and kpt, and the labels
// of kubectl apply --prune.
//
// List finds such sets. Read describes one of them in a form that is the same for all tools: its
// objects as the tool applies them, and what would delete them or change them back. The package
// knows the formats of other tools and decides nothing: it writes neither objects nor files.
package adopt

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
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

// Cluster is what this package needs of a cluster. Its methods may be called by several goroutines
// at once.
type Cluster interface {
	Kind(ctx context.Context, gk schema.GroupKind) (cluster.Kind, error)
	Read(ctx context.Context, targets []cluster.Target) (*cluster.Snapshot, error)
	List(
		ctx context.Context, gk schema.GroupKind, namespace string, labels map[string]string,
	) ([]*unstructured.Unstructured, error)
	ListMetadata(
		ctx context.Context, gk schema.GroupKind, namespace string, labels map[string]string,
	) ([]metav1.ObjectMeta, error)
	ListableKinds(ctx context.Context) (
		found []cluster.ListableKind, broken map[schema.GroupVersion]error, err error)
	Select(ctx context.Context, s cluster.Selection) ([]*unstructured.Unstructured, error)
}

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
