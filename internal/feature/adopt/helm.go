package adopt

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
)

// The labels of the objects in which Helm stores releases.
const (
	helmOwner     = "owner"
	helmOwned     = "helm" // the value of helmOwner
	helmLabelName = "name"
	helmStatus    = "status"
	helmVersion   = "version"

	helmDeployed = "deployed" // a status
)

// helmRetired is the value of helmOwner in records of releases that were adopted: Helm looks for
// helmOwned alone.
const helmRetired = "muster-adopted"

// The marks of Helm on objects, and what its annotations of manifests mean.
const (
	helmManagedBy = "app.kubernetes.io/managed-by"
	helmKeep      = "helm.sh/resource-policy"
)

// helmManagers are the field managers of Helm, and of the controller of Flux that uses it.
var helmManagers = []string{"helm", "helm-controller"}

// release is the part of a stored Helm release that counts here.
type release struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Version   int    `json:"version"`
	Info      struct {
		Status string `json:"status"`
	} `json:"info"`
	Chart struct {
		Metadata struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"metadata"`
		Files []struct {
			Name string `json:"name"`
		} `json:"files"`
	} `json:"chart"`
	Manifest string        `json:"manifest"`
	Hooks    []releaseHook `json:"hooks"`
}

// releaseHook is a hook of a Helm release.
type releaseHook struct {
	Path     string   `json:"path"`
	Manifest string   `json:"manifest"`
	Events   []string `json:"events"`
}

// maxRelease limits the size of an unpacked release: an API server stores 1 MiB at most, packed.
const maxRelease = 64 << 20

// decodeRelease reads a release in the form in which Helm stores it: JSON, compressed, in base64.
func decodeRelease(text []byte) (*release, error) {
	data, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		return nil, fmt.Errorf("it is not in base64: %w", err)
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b, 0x08}) {
		if data, err = boundedio.NewUnpacker(maxRelease).Gunzip(data); err != nil {
			return nil, fmt.Errorf("it cannot be unpacked: %w", err)
		}
	}
	var r release
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("it is not valid JSON: %w", err)
	}
	return &r, nil
}

// storedRelease is a revision of a release in its storage.
type storedRelease struct {
	kind    schema.GroupKind
	meta    metav1.ObjectMeta
	version int
}

// readRelease reads a Helm release.
func readRelease(ctx context.Context, c cluster.Reader, r Request) (*Set, error) {
	title := owner.Owner{
		Kind: owner.HelmRelease, Name: r.Name, Namespace: r.Namespace}.String()
	stored, err := storedReleases(ctx, c, r)
	if err != nil {
		return nil, err
	}
	if len(stored) == 0 {
		return nil, &NotFoundError{title, "muster list --all -A shows all"}
	}
	newest := stored[len(stored)-1]
	if err := checkReleaseStatus(title, r, newest); err != nil {
		return nil, err
	}
	found, err := readOne(ctx, c, refTo(newest.kind, newest.meta), "v1")
	if err != nil {
		return nil, err
	}
	text, err := releaseText(found)
	var decoded *release
	if err == nil {
		decoded, err = decodeRelease(text)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s from %s: %w", title, object.RefOf(found), err)
	}
	set, err := decoded.set(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", title, err)
	}
	set.Title = title
	for _, s := range stored {
		set.Record = append(set.Record, relabel(s))
	}
	return set, set.checkFlux(ctx, c)
}

// storedReleases returns the revisions of a release, the newest last.
func storedReleases(ctx context.Context, c cluster.Reader, r Request) ([]storedRelease, error) {
	var stored []storedRelease
	for _, kind := range []schema.GroupKind{secretKind, configMapKind} {
		found, err := c.ListMetadata(ctx, kind, r.Namespace,
			map[string]string{helmOwner: helmOwned, helmLabelName: r.Name})
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			if version, err := strconv.Atoi(m.Labels[helmVersion]); err == nil {
				stored = append(stored, storedRelease{kind, m, version})
			}
		}
		if len(stored) > 0 {
			break
		}
	}
	slices.SortFunc(stored, func(a, b storedRelease) int { return cmp.Compare(a.version, b.version) })
	return stored, nil
}

// checkReleaseStatus returns an error unless the newest revision is deployed.
func checkReleaseStatus(title string, r Request, newest storedRelease) error {
	status := newest.meta.Labels[helmStatus]
	switch {
	case status == helmDeployed:
		return nil
	case strings.HasPrefix(status, "pending") || status == "uninstalling":
		return &BusyError{title, fmt.Sprintf("is %s (revision %d)", status, newest.version),
			"another run of helm is in progress or was interrupted; let it end, or see helm history " +
				r.Name + " -n " + r.Namespace + " and helm rollback"}
	default:
		return &BusyError{title, fmt.Sprintf("is %s (revision %d)", status, newest.version),
			"what runs may be a mixture of revisions; first make it good with helm upgrade or helm " +
				"rollback"}
	}
}

// readOne returns one object, which has to exist.
func readOne(
	ctx context.Context, c cluster.Reader, ref object.Ref, version string,
) (*unstructured.Unstructured, error) {
	found, err := c.Read(ctx, []cluster.Target{{Ref: ref, Version: version}})
	if err == nil {
		err = found.Check()
	}
	if err != nil {
		return nil, err
	}
	if obj := found.Objects[ref]; obj != nil {
		return obj, nil
	}
	return nil, &NotFoundError{ref.String(), "muster list --all -A shows the sets of all tools"}
}

// releaseText returns the text of a release in an object of Helm.
func releaseText(obj *unstructured.Unstructured) ([]byte, error) {
	text, ok, _ := unstructured.NestedString(obj.Object, "data", "release")
	if !ok {
		return nil, errors.New("it has no release")
	}
	if obj.GetKind() == secretKind.Kind {
		return base64.StdEncoding.DecodeString(text)
	}
	return []byte(text), nil
}

// relabel returns the change that hides a revision from Helm.
func relabel(s storedRelease) RecordChange {
	label := func(value string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, helmOwner, value))
	}
	return RecordChange{
		Ref: refTo(s.kind, s.meta), Version: "v1", UID: s.meta.UID, Obsolete: true,
		Patch: label(helmRetired), Undo: label(helmOwned),
	}
}

// asHelm are the rules by which Helm reads what it has rendered.
var asHelm = manifest.Options{YAML11: true, Foreign: manifest.KeepForeign}

// set returns the set of a release, without its record.
func (r *release) set(ctx context.Context, c cluster.Reader) (*Set, error) {
	set := &Set{
		Tool: Helm, Program: "helm", Managers: helmManagers,
		Version: fmt.Sprintf("revision %d", r.Version),
		Owners: []owner.Owner{
			{Kind: owner.HelmRelease, Name: r.Name, Namespace: r.Namespace},
		},
	}
	objects, err := manifest.Parse(ctx, []byte(r.Manifest), "the manifest", asHelm)
	if err != nil {
		return nil, err
	}
	for _, obj := range objects {
		if err := place(ctx, c, obj.Unstructured, r.Namespace); err != nil {
			return nil, err
		}
		set.Objects = append(set.Objects, releaseObject(obj.Unstructured))
	}
	for _, hook := range r.Hooks {
		if err := set.addHook(ctx, hook, r.Namespace); err != nil {
			return nil, err
		}
	}
	definitions := 0
	for _, file := range r.Chart.Files {
		if strings.HasPrefix(file.Name, "crds/") {
			definitions++
		}
	}
	if definitions > 0 {
		set.Notes = append(set.Notes, fmt.Sprintf("the folder crds of the chart (files: %d) is not "+
			"adopted: Helm creates these definitions once, and neither changes nor deletes them",
			definitions))
	}
	return set, nil
}

// place sets the namespace of an object whose kind needs one.
func place(
	ctx context.Context, c cluster.Reader, obj *unstructured.Unstructured, namespace string,
) error {
	kind, err := c.Kind(ctx, obj.GroupVersionKind().GroupKind())
	unknown := (*cluster.UnknownKindError)(nil)
	switch {
	case errors.As(err, &unknown) && unknown.Cause == nil:
		return fmt.Errorf("%s: %w; so the object does not exist, and the set cannot be adopted as a "+
			"whole", object.RefOf(obj).Short(), err)
	case err != nil:
		return err
	case kind.Namespaced && obj.GetNamespace() == "":
		obj.SetNamespace(namespace)
	case !kind.Namespaced:
		obj.SetNamespace("")
	}
	return nil
}

// releaseObject returns an object of a manifest of Helm, which adds a label to it.
func releaseObject(obj *unstructured.Unstructured) Object {
	o := Object{
		Ref: object.RefOf(obj), Version: obj.GroupVersionKind().Version, Manifest: obj,
	}
	if _, has := object.LabelsOf(obj).Lookup(helmManagedBy); !has {
		o.Labels = []string{helmManagedBy}
	}
	return o
}

// addHook adds the objects of a hook.
func (s *Set) addHook(ctx context.Context, hook releaseHook, namespace string) error {
	objects, err := manifest.Parse(ctx, []byte(hook.Manifest), "the hook "+hook.Path, asHelm)
	if err != nil {
		return err
	}
	for _, obj := range objects {
		if obj.GetNamespace() == "" {
			obj.SetNamespace(namespace)
		}
		s.Hooks = append(s.Hooks, Hook{
			Ref: object.RefOf(obj.Unstructured), When: strings.Join(hook.Events, ", "),
			Text: hook.Manifest, Source: hook.Path,
		})
	}
	return nil
}
