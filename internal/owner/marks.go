package owner

// The marks of packages and apps, and of their records.
const (
	inventoryAnnotation = "config.k8s.io/owning-inventory"
	inventoryLabel      = "cli-utils.sigs.k8s.io/inventory-id" // of records
	appLabel            = "kapp.k14s.io/app"
	associationLabel    = "kapp.k14s.io/association"
	appRecordLabel      = "kapp.k14s.io/is-app" // of records
	appRecordSuffix     = ".apps.k14s.io"       // of the names of some records
)

// appAnnotations are what kapp records on the objects of apps, and those by which it recognizes
// versions of an object. They mean nothing once an object has another owner whose manifests lack
// them: kapp would delete a former version that an app has as an object of its own.
var appAnnotations = []string{
	"kapp.k14s.io/identity", "kapp.k14s.io/original", "kapp.k14s.io/original-diff-md5",
	"kapp.k14s.io/original-diff", "kapp.k14s.io/original-diff-full",
	"kapp.k14s.io/versioned", "kapp.k14s.io/versioned-keep-original", "kapp.k14s.io/num-versions",
}

// The marks of Helm. The label app.kubernetes.io/managed-by is no mark: charts that are only
// rendered have it too.
const (
	helmName      = "meta.helm.sh/release-name"
	helmNamespace = "meta.helm.sh/release-namespace"
)

// fluxMarks are the labels of Flux.
var fluxMarks = []struct {
	kind            Kind
	name, namespace string
}{
	{Kustomization, "kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace"},
	{FluxRelease, "helm.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/namespace"},
}

// The marks of Argo CD.
const (
	argoInstance     = "argocd.argoproj.io/instance"
	argoTracking     = "argocd.argoproj.io/tracking-id"
	argoInstallation = "argocd.argoproj.io/installation-id"
	instanceLabel    = "app.kubernetes.io/instance"
)

// argoManagers are the field managers of Argo CD.
var argoManagers = map[string]bool{
	"argocd-controller": true, "argocd-application-controller": true, "argocd": true,
}

// Keys returns the keys of the labels and annotations by which owners of a kind are recognized.
func Keys(kind Kind) (labels, annotations []string) {
	switch kind {
	case Package:
		return nil, []string{inventoryAnnotation}
	case App:
		return []string{appLabel, associationLabel}, nil
	case Application:
		return []string{argoInstance}, []string{argoInstance, argoTracking, argoInstallation}
	case HelmRelease:
		return nil, []string{helmName, helmNamespace}
	case ApplySet:
		return []string{ApplySetLabel}, nil
	}
	for _, mark := range fluxMarks {
		if mark.kind == kind {
			return []string{mark.name, mark.namespace}, nil
		}
	}
	return nil, nil
}
