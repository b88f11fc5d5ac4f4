package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/run"
)

// poll is what was seen of a registry last.
type poll struct {
	mutex    sync.Mutex
	inFlight bool
	at       time.Time
	revision string
	initial  string // the revision that the first run has fetched, too
}

// kindTime is the time between two looks at a kind of artifacts that the server does not have.
const kindTime = 30 * time.Second

// cacheTime is how long a worker waits for the cache of a kind that was not watched before.
const cacheTime = time.Second

// sourceState returns a text that changes with all that is read for a Set: its source, its
// readiness rules and its kubeconfig. After is when to ask again; 0 is never.
func (r *Reconciler) sourceState(
	ctx context.Context, set *v1alpha1.Set, s *state,
) (text string, after time.Duration, err error) {
	if set.Spec.Pin == 0 { // else the revision has the manifests and the rules
		text, after, err = r.manifestsState(ctx, set, s)
	}
	if rules := set.Spec.Wait.Rules; err == nil && rules != nil && set.Spec.Pin == 0 {
		refs, version := []v1alpha1.LocalReference{{Name: rules.ConfigMapRef.Name}}, ""
		version, err = r.versions(ctx, set.Namespace, "ConfigMap", refs)
		text += " rules " + version
	}
	if err == nil && set.Spec.Cluster != nil {
		version := ""
		version, err = r.kubeconfigState(ctx, set)
		text += " cluster " + version
	}
	return text, after, err
}

// kubeconfigState returns a text that changes with the kubeconfig of a Set; empty if it has none.
func (r *Reconciler) kubeconfigState(ctx context.Context, set *v1alpha1.Set) (string, error) {
	if set.Spec.Cluster == nil {
		return "", nil
	}
	refs := []v1alpha1.LocalReference{{Name: set.Spec.Cluster.KubeconfigSecretRef.Name}}
	return r.versions(ctx, set.Namespace, "Secret", refs)
}

// manifestsState returns a text that changes with the source of a Set, from what is cached, and
// when to ask again; 0 is never. It waits for nobody: a registry is asked in the background.
func (r *Reconciler) manifestsState(
	ctx context.Context, set *v1alpha1.Set, s *state,
) (text string, after time.Duration, err error) {
	spec := set.Spec.Source
	switch {
	case spec.ConfigMaps != nil:
		text, err = r.versions(ctx, set.Namespace, "ConfigMap", spec.ConfigMaps)
	case spec.Secrets != nil:
		text, err = r.versions(ctx, set.Namespace, "Secret", spec.Secrets)
	case spec.Artifact != nil:
		return r.artifactState(ctx, set.Namespace, spec.Artifact)
	case spec.OCI != nil:
		if refs := secretsOfOCI(spec.OCI); len(refs) > 0 {
			text, err = r.versions(ctx, set.Namespace, "Secret", refs)
		}
		if spec.OCI.Ref.Digest == "" {
			revision, wait := r.polled(set, s)
			text, after = text+" "+revision, wait
		}
	}
	return text, after, err
}

// versions returns the versions of objects that are sources. One that does not exist has none.
func (r *Reconciler) versions(
	ctx context.Context, namespace, kind string, refs []v1alpha1.LocalReference,
) (string, error) {
	var versions []string
	for _, ref := range refs {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, object)
		if client.IgnoreNotFound(err) != nil {
			return "", err
		}
		versions = append(versions, fmt.Sprintf("%s/%s", object.UID, object.ResourceVersion))
	}
	return strings.Join(versions, " "), nil
}

// artifactState returns the artifact of an object that is a source.
func (r *Reconciler) artifactState(
	ctx context.Context, namespace string, ref *v1alpha1.ArtifactSource,
) (string, time.Duration, error) {
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	if err := r.kinds.watch(ctx, gvk); meta.IsNoMatchError(err) {
		return "no such kind", kindTime, nil
	} else if err != nil {
		return "", 0, err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	ctx, cancel := context.WithTimeout(ctx, cacheTime)
	defer cancel()
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return "", 0, nil
	case ctx.Err() != nil: // the controller may not read the kind; the run says so
		return "not cached", kindTime, nil
	}
	artifact, _, _ := unstructured.NestedMap(object.Object, "status", "artifact") // nil if it has none
	return fmt.Sprint(artifact["digest"], artifact["revision"]), 0, err
}

// polled returns the revision that a registry had last, and when to look again. The first run of a
// Set asks the registry itself.
func (r *Reconciler) polled(set *v1alpha1.Set, s *state) (string, time.Duration) {
	every := defaultPoll
	if d := set.Spec.Source.OCI.Poll; d != nil && d.Duration > 0 {
		every = d.Duration
	}
	p := &s.poll
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.at.IsZero() {
		p.at = time.Now() // of the first run
	}
	wait := time.Until(p.at.Add(every))
	if wait <= 0 && !p.inFlight {
		p.inFlight = true
		known := set.Status.Revision.Attempted
		if s.last != nil {
			known = cmp.Or(s.last.Revision, known)
		}
		go r.ask(set.DeepCopy(), p, known, s.run)
	}
	if p.revision == p.initial {
		return "", max(wait, time.Second)
	}
	return p.revision, max(wait, time.Second)
}

// ask asks a registry for its revision, and brings the worker back if it is another one than that
// which is known, or which the run under way, if there is one, has fetched.
func (r *Reconciler) ask(set *v1alpha1.Set, p *poll, known string, under *run.Run) {
	ctx, cancel := context.WithTimeout(r.base, time.Minute)
	defer cancel()
	revision, err := r.Sources.Revision(ctx, set)
	p.mutex.Lock()
	p.inFlight, p.at = false, time.Now()
	first, changed := p.revision == "", err == nil && revision != p.revision
	if changed {
		p.revision = revision
	}
	if first && changed && (revision == known || under != nil && revision == under.Revision()) {
		p.initial, changed = revision, false
	}
	p.mutex.Unlock()
	if changed {
		r.Changed(client.ObjectKeyFromObject(set))
	}
}

// The indexes of Sets in the cache.
const (
	indexConfigMaps = "configMaps"
	indexSecrets    = "secrets"
	indexArtifact   = "artifact"
	indexDependsOn  = "dependsOn"
	indexRecord     = "record"
)

// indexes returns the values of a Set by index.
var indexes = map[string]func(*v1alpha1.Set) []string{
	indexConfigMaps: configMapsOf,
	indexSecrets:    secretsOf,
	indexArtifact: func(s *v1alpha1.Set) []string {
		if a := s.Spec.Source.Artifact; a != nil {
			return []string{artifactKey(schema.FromAPIVersionAndKind(a.APIVersion, a.Kind), a.Name)}
		}
		return nil
	},
	indexDependsOn: func(s *v1alpha1.Set) (names []string) {
		for _, d := range s.Spec.DependsOn {
			names = append(names, d.Name)
		}
		return names
	},
	indexRecord: func(s *v1alpha1.Set) []string { return []string{recordKey(s)} },
}

// namesOf returns the names of references.
func namesOf(refs []v1alpha1.LocalReference) (names []string) {
	for _, ref := range refs {
		names = append(names, ref.Name)
	}
	return names
}

// configMapsOf returns the ConfigMaps that a Set reads.
func configMapsOf(s *v1alpha1.Set) []string {
	names := namesOf(s.Spec.Source.ConfigMaps)
	if rules := s.Spec.Wait.Rules; rules != nil {
		names = append(names, rules.ConfigMapRef.Name)
	}
	return names
}

// secretsOf returns the Secrets that a Set reads.
func secretsOf(s *v1alpha1.Set) []string {
	names := namesOf(s.Spec.Source.Secrets)
	if s.Spec.Cluster != nil {
		names = append(names, s.Spec.Cluster.KubeconfigSecretRef.Name)
	}
	if o := s.Spec.Source.OCI; o != nil {
		names = append(names, namesOf(secretsOfOCI(o))...)
	}
	return names
}

// secretsOfOCI returns the Secrets with the credentials and the public keys of an artifact.
func secretsOfOCI(o *v1alpha1.OCISource) (refs []v1alpha1.LocalReference) {
	if o.SecretRef != nil {
		refs = append(refs, *o.SecretRef)
	}
	if o.Verify != nil {
		refs = append(refs, o.Verify.Keys.SecretRef)
	}
	return refs
}

// artifactKey returns the value of indexArtifact.
func artifactKey(gvk schema.GroupVersionKind, name string) string {
	return gvk.GroupKind().String() + "/" + name
}
