package source

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/internal/feature/artifact"
)

// archive is what an object has in .status.artifact.
type archive struct {
	fetcher   *Fetcher
	namespace string
	kind      schema.GroupVersionKind
	object    string // its name
	folder    string
}

// located is where an archive is, and what it has to be.
type located struct {
	url      *url.URL
	digest   digest.Digest
	revision string
}

// archive returns the archive that a Set names.
func (f *Fetcher) archive(set *v1alpha1.Set, folder string) (origin, error) {
	s := set.Spec.Source.Artifact
	gv, err := schema.ParseGroupVersion(s.APIVersion)
	if err != nil || gv.Version == "" || s.Kind == "" || s.Name == "" {
		return nil, invalid("spec.source.artifact: it needs apiVersion (GROUP/VERSION), kind and name")
	}
	return &archive{f, set.Namespace, gv.WithKind(s.Kind), s.Name, folder}, nil
}

// name returns what messages call the files.
func (o *archive) name() string {
	name := o.kind.Kind + " " + o.object
	if o.folder != "" {
		name += "/" + o.folder
	}
	return name
}

// invalid returns an InvalidError about the object.
func (o *archive) invalid(format string, args ...any) error {
	return &InvalidError{o.failed(format, args...)}
}

// failed returns an error about the object.
func (o *archive) failed(format string, args ...any) error {
	return fmt.Errorf("%s %s/%s: %w", o.kind.Kind, o.namespace, o.object, fmt.Errorf(format, args...))
}

func (o *archive) revision(ctx context.Context) (string, error) {
	at, err := o.locate(ctx)
	if err != nil {
		return "", err
	}
	return at.revision, nil
}

func (o *archive) fetch(ctx context.Context) (*Fetched, error) {
	at, err := o.locate(ctx)
	if err != nil {
		return nil, err
	}
	key := content{o.namespace, "archive " + at.digest.String()}
	dir := o.fetcher.folders.take(key)
	if dir == nil {
		tree, err := o.unpack(ctx, at)
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if dir, err = o.fetcher.folders.put(key, tree, nil); err != nil {
			return nil, o.failed("write the files: %w", err)
		}
	}
	return o.fetcher.folders.fetched(dir, o.folder, at.revision, o.name())
}

// unpack fetches the archive and returns the files in it.
func (o *archive) unpack(ctx context.Context, at *located) (_ artifact.Tree, err error) {
	dir, err := o.fetcher.folders.make(o.namespace)
	if err != nil {
		return nil, o.failed("write the archive: %w", err)
	}
	defer func() { _ = o.fetcher.folders.remove(dir) }()
	file, err := os.OpenFile(filepath.Join(dir, "archive"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, o.failed("write the archive: %w", err)
	}
	defer func() { _ = file.Close() }() // it is removed
	if err := o.download(ctx, at, file); err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, 0); err != nil {
		return nil, o.failed("read the archive: %w", err)
	}
	tree, err := artifact.UnpackArchive(file, o.fetcher.limit())
	if err != nil {
		return nil, o.invalid("the archive is not unpacked: %w", err)
	}
	return tree, nil
}

// locate returns where the archive is now.
func (o *archive) locate(ctx context.Context) (*located, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(o.kind)
	err := o.fetcher.getter(o.namespace)(ctx, o.kind.Kind, o.object, object)
	if err != nil {
		return nil, err
	}
	if object.GetNamespace() != o.namespace {
		return nil, o.invalid("objects of this kind are in no namespace, and those of others are not " +
			"read")
	}
	status, found, err := unstructured.NestedMap(object.Object, "status", "artifact")
	if err != nil || !found || len(status) == 0 {
		return nil, o.failed("there is no artifact yet (.status.artifact)%s", notReady(object))
	}
	return o.parse(status)
}

// parse reads the content of .status.artifact.
func (o *archive) parse(status map[string]any) (*located, error) {
	text, _, _ := unstructured.NestedString(status, "url")
	at := &located{}
	var err error
	if at.url, err = url.Parse(text); err != nil || at.url.Host == "" ||
		at.url.Scheme != "http" && at.url.Scheme != "https" {
		return nil, o.invalid(".status.artifact.url is no address: it has to begin with http:// or " +
			"https://")
	}
	sum, _, _ := unstructured.NestedString(status, "digest")
	at.digest = digest.Digest(sum)
	if at.digest.Validate() != nil || at.digest.Algorithm() != digest.SHA256 {
		return nil, o.invalid(".status.artifact.digest is %q, and has to be one of SHA-256, as in: "+
			"sha256:…", sum)
	}
	at.revision, _, _ = unstructured.NestedString(status, "revision")
	if at.revision == "" {
		at.revision = sum
	}
	if n, _, _ := unstructured.NestedInt64(status, "size"); n > o.fetcher.limit() {
		return nil, o.fetcher.tooLarge("the files of " + o.name())
	}
	return at, nil
}

// maxMessage is the length of the message of another controller in an error.
const maxMessage = 300

// notReady returns why an object is not ready if its condition Ready says that.
func notReady(object *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		message, _ := condition["message"].(string)
		if condition["type"] == "Ready" && condition["status"] != "True" && message != "" {
			return fmt.Sprintf(": %.*s", maxMessage, message)
		}
	}
	return ""
}
