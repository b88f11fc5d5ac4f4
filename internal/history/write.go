package history

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// attempts is how often a write looks for a free number.
const attempts = 3

// The reasons why a name is not free.
var (
	errOtherSet    = errors.New("another set has a revision of this name, or it is no revision")
	errNumberTaken = errors.New("another run has written a revision of this number")
)

// Write stores a revision as the newest one and prunes the history. It returns the description with
// the number and the parts. Of the description it sets Number, Record, Objects, Content,
// Unstored, Completed and Parts, and Parent if that is 0. Of the objects, Digest and Withheld do
// not count.
//
// For a set without Secrets in other namespaces that fits into one Secret it sends a list of
// metadata, a creation and a deletion.
func (s *Store) Write(ctx context.Context, r Revision) (Meta, error) {
	l, err := s.listed, error(nil)
	if s.listed = nil; l == nil {
		l, err = s.list(ctx)
	}
	for attempt := 1; err == nil; attempt++ {
		var head Head
		head, err = s.write(ctx, r, l.newest())
		switch {
		case err == nil:
			l.heads = append([]Head{head}, l.heads...)
			if err := s.prune(ctx, l); err != nil {
				return head.Meta, fmt.Errorf("prune the history of %q: %w", s.Set.Name, err)
			}
			return head.Meta, nil
		case attempt == attempts:
		case errors.Is(err, errOtherSet) && !s.nameTaken:
			s.nameTaken, err = true, nil
		case errors.Is(err, errNumberTaken):
			l, err = s.list(ctx)
		}
	}
	return Meta{}, err
}

// newest returns the number of the newest revision; 0 if there is none.
func (l *listing) newest() int {
	if len(l.heads) == 0 {
		return 0
	}
	return l.heads[0].Number
}

// write stores the revision that follows the newest one: the data of Secrets, parts, then the head.
func (s *Store) write(ctx context.Context, r Revision, newest int) (head Head, err error) {
	w := &writer{Store: s, meta: r.Meta, details: r.Details, objects: sorted(r.Objects)}
	number := newest + 1
	w.meta.Number, w.meta.Parent, w.meta.Record = number, cmp.Or(r.Parent, newest), s.Set.Record
	w.meta.Unstored, w.meta.Completed = 0, 0
	defer func() {
		if err != nil {
			// What stays is no revision: the next write deletes it.
			_ = s.delete(ctx, w.created)
			err = fmt.Errorf("write revision %d of %q: %w", number, s.Set.Name, err)
		}
	}()
	forbidden, secrets, err := w.writeSecrets(ctx)
	if err != nil {
		return Head{}, err
	}
	parts, err := w.pack(forbidden)
	if err != nil {
		return Head{}, err
	}
	named := make([]Part, len(parts), len(parts)+len(secrets))
	for i, part := range parts {
		named[i] = Part{Name: s.Set.partName(number, i+1, s.nameTaken), SHA256: sumOf(part)}
	}
	w.meta.Parts = append(named, secrets...)
	for i := len(parts) - 1; i >= 0; i-- {
		obj := s.Set.secret(s.Set.Namespace, named[i].Name, number, i+1, parts[i])
		if i == 0 {
			text, err := json.Marshal(w.meta)
			if err != nil {
				return Head{}, err
			}
			obj.SetAnnotations(map[string]string{annotationMeta: string(text)})
		}
		if err := w.create(ctx, obj); err != nil {
			return Head{}, err
		}
	}
	uid := w.created[len(w.created)-1].uid
	return Head{Meta: w.meta, name: named[0].Name, uid: uid, label: s.Set.label()}, nil
}

// writer writes one revision.
type writer struct {
	*Store
	meta    Meta
	details Details
	objects []Object
	created []proven // parts
	size    int      // of the content, before it is packed
}

// grow adds to the size of the revision, and returns an error for one that could not be read again.
func (w *writer) grow(bytes int) error {
	if w.size += bytes; w.size > maxRevision {
		return fmt.Errorf("its objects have more than %d MiB, the limit of a revision", maxRevision>>20)
	}
	return nil
}

// writeSecrets stores the data of Secrets in their own namespaces, but for that of the record. It
// returns the namespaces where that is forbidden or impossible, and the parts.
func (w *writer) writeSecrets(
	ctx context.Context,
) (refused map[string]bool, parts []Part, err error) {
	refused, lines := map[string]bool{}, map[string]*bytes.Buffer{}
	for _, obj := range w.objects {
		ref := object.RefOf(obj.Unstructured)
		if !isSecret(ref) || !w.isElsewhere(ref) {
			continue
		}
		_, data := withoutData(content(obj.Unstructured))
		text, err := line(secretData{ref.Name, data})
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", ref, err)
		}
		if lines[ref.Namespace] == nil {
			lines[ref.Namespace] = &bytes.Buffer{}
		}
		lines[ref.Namespace].Write(text)
	}
	for _, namespace := range slices.Sorted(maps.Keys(lines)) {
		if err := w.grow(lines[namespace].Len()); err != nil {
			return nil, nil, err
		}
		packed := pack(keyed{keySecrets, boundedio.Gzip(lines[namespace].Bytes())})
		stored := make([]Part, 0, len(packed))
		for i, data := range packed {
			name := w.Set.partName(w.meta.Number, i+1, true)
			err := w.create(ctx, w.Set.secret(namespace, name, w.meta.Number, i+1, data))
			if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
				refused[namespace], stored = true, nil
				break
			}
			if err != nil {
				return nil, nil, err
			}
			stored = append(stored, Part{Namespace: namespace, Name: name, SHA256: sumOf(data)})
		}
		parts = append(parts, stored...)
	}
	return refused, parts, nil
}

// isElsewhere reports whether the data of a Secret is stored in another namespace than the object.
func (w *writer) isElsewhere(secret object.Ref) bool {
	return cmp.Or(w.Secrets, OwnNamespace) == OwnNamespace && secret.Namespace != w.Set.Namespace
}

// pack returns the parts with the index and the objects. Of the Secrets in some namespaces only a
// digest is stored.
func (w *writer) pack(refused map[string]bool) ([]map[string][]byte, error) {
	var text bytes.Buffer
	var digests strings.Builder
	index := make([]entry, len(w.objects))
	for i, obj := range w.objects {
		ref := object.RefOf(obj.Unstructured)
		fields := content(obj.Unstructured)
		e := entry{Ref: ref, Source: obj.Source, Data: w.dataOf(ref, refused), Unstored: obj.Unstored,
			Completed: obj.Completed}
		if w.meta.Unstored += len(obj.Unstored); !obj.Completed.IsZero() {
			w.meta.Completed++
		}
		whole, err := line(fields)
		stored := whole
		if err == nil && e.Data != "" {
			rest, data := withoutData(fields)
			keys := dataKeys(data)
			e.Keys = &keys
			if e.Data != NoData {
				e.DataDigest, e.StringKeys = dataDigest(data), stringKeys(data)
			}
			stored, err = line(rest)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ref, err)
		}
		if e.Digest = digest(whole); e.Data == NoData {
			e.Digest = digest(stored)
		}
		text.Write(stored)
		fmt.Fprintf(&digests, "%s %s\n", ref, e.Digest)
		index[i] = e
	}
	list, err := line(index)
	if err != nil {
		return nil, err
	}
	details, err := line(w.details)
	if err == nil {
		err = w.grow(len(list) + text.Len() + len(details))
	}
	if err != nil {
		return nil, err
	}
	contents := []keyed{{keyIndex, boundedio.Gzip(list)}, {keyObjects, boundedio.Gzip(text.Bytes())}}
	if string(details) != "{}\n" {
		contents = append(contents, keyed{keyDetails, boundedio.Gzip(details)})
	}
	w.meta.Objects, w.meta.Content = len(index), digest([]byte(digests.String()))
	return pack(contents...), nil
}

// dataOf returns where the data of an object is; empty if it is with the object.
func (w *writer) dataOf(ref object.Ref, refused map[string]bool) DataPolicy {
	switch {
	case !isSecret(ref):
		return ""
	case w.isElsewhere(ref) && refused[ref.Namespace]:
		return OnlyDigest
	case w.isElsewhere(ref):
		return OwnNamespace
	case cmp.Or(w.Secrets, OwnNamespace) == OwnNamespace:
		return ""
	default:
		return w.Secrets
	}
}

// create creates a part. A part of this set that has its name was left by an interrupted write and
// is replaced. If another set has the name, or another run has written the revision, the error is
// errOtherSet or errNumberTaken.
func (w *writer) create(ctx context.Context, obj *unstructured.Unstructured) error {
	ref := object.RefOf(obj)
	create := func() error {
		stored, err := w.Cluster.Write(ctx,
			cluster.Write{Object: obj, Method: cluster.Create, Manager: w.Manager})
		if err == nil {
			w.created = append(w.created, proven{ref, stored.GetUID()})
		}
		return err
	}
	err := create()
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	live, readErr := w.Cluster.Read(ctx, []cluster.Target{{Ref: ref, Version: secretKind.Version}})
	if readErr != nil {
		return readErr
	}
	found := live.Objects[ref]
	switch {
	case found == nil:
		return create()
	case found.Object["type"] != secretType || found.GetLabels()[labelSet] != w.Set.label() ||
		found.GetLabels()[labelRevision] != obj.GetLabels()[labelRevision]:
		return fmt.Errorf("%s: %w", ref, errOtherSet)
	case isHead(found):
		return fmt.Errorf("%s: %w", ref, errNumberTaken)
	}
	if _, err := w.Cluster.Delete(ctx, cluster.Delete{Ref: ref, UID: found.GetUID()}); err != nil {
		return err
	}
	return create()
}
