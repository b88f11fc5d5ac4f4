package source

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/internal/feature/artifact"
)

// files is manifests that objects of the cluster hold: they are read without a request if the
// reader has a cache, and are not kept.
type files struct {
	fetcher   *Fetcher
	namespace string
	holder    interface {
		name() string
		read(ctx context.Context, get getter, add func(holder, key string, text []byte) error) error
	}
}

// getter reads an object of the namespace of a Set.
type getter func(ctx context.Context, kind, name string, into client.Object) error

func (o *files) revision(ctx context.Context) (string, error) {
	t, err := o.tree(ctx)
	return digestOf(t), err
}

func (o *files) fetch(ctx context.Context) (*Fetched, error) {
	t, err := o.tree(ctx)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d, err := o.fetcher.folders.write(o.namespace, t)
	if err != nil {
		return nil, fmt.Errorf("write the files of %s: %w", o.holder.name(), err)
	}
	return &Fetched{
		Folder: d.path(), Root: d.path(), Revision: digestOf(t), Name: o.holder.name(),
		Release: sync.OnceFunc(func() { _ = o.fetcher.folders.remove(d.root) }),
	}, nil
}

// tree returns the files of all objects.
func (o *files) tree(ctx context.Context) (artifact.Tree, error) {
	t, size := artifact.Tree{}, int64(0)
	holders := map[string]string{} // by key
	err := o.holder.read(ctx, o.fetcher.getter(o.namespace),
		func(holder, key string, text []byte) error {
			if strings.ContainsAny(key, "/\\\x00") || !fs.ValidPath(key) || key == "." {
				return invalid("%s: the key %q is no name of a file", holder, key)
			}
			if first, ok := holders[key]; ok {
				return invalid("%s and %s both have the key %s: rename one of them", first, holder, key)
			}
			if size += int64(len(text)); size > o.fetcher.limit() {
				return o.fetcher.tooLarge("the files of " + o.holder.name())
			}
			holders[key], t[key] = holder, artifact.File{Data: text}
			return nil
		})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// digestOf returns a digest of the names and the contents of files; an empty one for nil.
func digestOf(t artifact.Tree) string {
	if t == nil {
		return ""
	}
	sum := sha256.New()
	write := func(text []byte) {
		_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text)))) // it never fails
		_, _ = sum.Write(text)
	}
	for _, name := range t.Paths() {
		write([]byte(name))
		write(t[name].Data)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// getter returns what reads objects of a namespace. Its errors name the object.
func (f *Fetcher) getter(namespace string) getter {
	return func(ctx context.Context, kind, name string, into client.Object) error {
		err := f.Reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, into)
		if err != nil {
			return fmt.Errorf("read %s %s/%s: %w", kind, namespace, name, err)
		}
		return nil
	}
}

// inline is manifests in the Set itself.
type inline string

func (inline) name() string { return "spec.source.inline" }

func (i inline) read(_ context.Context, _ getter, add func(string, string, []byte) error) error {
	return add(i.name(), "manifests.yaml", []byte(i))
}

// configMaps names ConfigMaps.
type configMaps []v1alpha1.LocalReference

func (c configMaps) name() string { return nameOf("ConfigMap", c) }

func (c configMaps) read(
	ctx context.Context, get getter, add func(string, string, []byte) error,
) error {
	for _, r := range c {
		object := &corev1.ConfigMap{}
		if err := get(ctx, "ConfigMap", r.Name, object); err != nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(object.Data)) {
			if err := add("ConfigMap "+r.Name, key, []byte(object.Data[key])); err != nil {
				return err
			}
		}
		if err := addAll("ConfigMap "+r.Name, object.BinaryData, add); err != nil {
			return err
		}
	}
	return nil
}

// secrets names Secrets.
type secrets []v1alpha1.LocalReference

func (s secrets) name() string { return nameOf("Secret", s) }

func (s secrets) read(
	ctx context.Context, get getter, add func(string, string, []byte) error,
) error {
	for _, r := range s {
		object := &corev1.Secret{}
		if err := get(ctx, "Secret", r.Name, object); err != nil {
			return err
		}
		if err := addAll("Secret "+r.Name, object.Data, add); err != nil {
			return err
		}
	}
	return nil
}

// addAll adds the data of an object, sorted by key.
func addAll(holder string, data map[string][]byte, add func(string, string, []byte) error) error {
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if err := add(holder, key, data[key]); err != nil {
			return err
		}
	}
	return nil
}

// maxNames is the number of objects that a message names.
const maxNames = 3

// nameOf returns what messages call some objects.
func nameOf(kind string, objects []v1alpha1.LocalReference) string {
	var names []string
	for _, r := range objects[:min(maxNames, len(objects))] {
		names = append(names, r.Name)
	}
	text := kind
	if len(objects) > 1 {
		text += "s"
	}
	text += " " + strings.Join(names, ", ")
	if more := len(objects) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
