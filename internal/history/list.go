package history

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// deleteConcurrency is the limit of concurrent deletions.
const deleteConcurrency = 8

// listing is what the metadata of the Secrets in the namespace of the record says.
type listing struct {
	heads []Head              // newest first
	parts []metav1.ObjectMeta // of all revisions, and those that no head names; no heads
}

// List returns the revisions without their objects, the newest first. It sends one request for
// metadata.
func (s *Store) List(ctx context.Context) ([]Head, error) {
	l, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	return l.heads, nil
}

// ListToWrite returns what List does. The Write that follows then does not list again, nor does a
// second call before it.
func (s *Store) ListToWrite(ctx context.Context) ([]Head, error) {
	if s.listed == nil {
		l, err := s.list(ctx)
		if err != nil {
			return nil, err
		}
		s.listed = l
	}
	return slices.Clone(s.listed.heads), nil
}

func (s *Store) list(ctx context.Context) (*listing, error) {
	return s.listWith(ctx, map[string]string{labelSet: s.Set.label()})
}

// listWith lists the revisions with some labels.
func (s *Store) listWith(ctx context.Context, labels map[string]string) (*listing, error) {
	found, err := s.Cluster.ListSecretMetadata(ctx, secretType, s.Set.Namespace, labels)
	if err != nil {
		return nil, fmt.Errorf("list the revisions of %q: %w", s.Set.Name, err)
	}
	l := &listing{}
	for i := range found {
		number, err := strconv.Atoi(found[i].Labels[labelRevision])
		switch {
		case err != nil || number <= 0: // it is no revision
		case isHead(&found[i]):
			l.heads = append(l.heads, newHead(&found[i], number))
		default:
			l.parts = append(l.parts, found[i])
		}
	}
	slices.SortFunc(l.heads, func(a, b Head) int {
		return cmp.Or(cmp.Compare(b.Number, a.Number), cmp.Compare(a.label, b.label),
			cmp.Compare(a.name, b.name))
	})
	for i := range l.heads {
		l.heads[i].checkParts(s.Set, l.parts)
	}
	l.checkNumbers()
	return l, nil
}

// checkNumbers sets the errors of heads of one set that have the same number: one of them is
// forged, and nothing shows which.
func (l *listing) checkNumbers() {
	for i := range l.heads[min(1, len(l.heads)):] {
		a, b := &l.heads[i], &l.heads[i+1]
		if a.Number == b.Number && a.label == b.label {
			err := severalHeads(a.Number, a.name, b.name)
			a.Err, b.Err = cmp.Or(a.Err, err), cmp.Or(b.Err, err)
		}
	}
}

// severalHeads returns the error of Secrets that say that they are the head of one revision.
func severalHeads(number int, names ...string) error {
	slices.Sort(names)
	return fmt.Errorf("several Secrets describe revision %d: secret/%s; delete those that muster did "+
		"not write", number, strings.Join(names, ", secret/"))
}

// newHead returns the head with some metadata.
func newHead(m metav1.Object, number int) Head {
	h := Head{name: m.GetName(), uid: m.GetUID(), label: m.GetLabels()[labelSet]}
	_, h.Pinned = m.GetAnnotations()[annotationPinned]
	err := json.Unmarshal([]byte(m.GetAnnotations()[annotationMeta]), &h.Meta)
	switch {
	case err != nil:
		h.Err = fmt.Errorf("the annotation %s of secret/%s cannot be read: %w", annotationMeta, h.name,
			err)
	case h.Number != number || len(h.Parts) == 0 || h.Parts[0].Name != h.name:
		h.Err = fmt.Errorf("secret/%s is not the head of revision %d", h.name, number)
	case slices.ContainsFunc(h.Parts, Part.isInvalid):
		h.Err = fmt.Errorf("the annotation %s of secret/%s names a part that cannot exist",
			annotationMeta, h.name)
	}
	if h.Err != nil {
		h.Meta = Meta{Number: number}
	}
	h.setStarted(m.GetAnnotations()[annotationStarted])
	return h
}

// checkParts sets the error of a head that names a part which does not exist. Parts in other
// namespaces are not known.
func (h *Head) checkParts(set Set, existing []metav1.ObjectMeta) {
	for _, part := range h.Parts {
		exists := part.Namespace != "" || part.Name == h.name ||
			slices.ContainsFunc(existing, func(m metav1.ObjectMeta) bool { return m.Name == part.Name })
		if !exists && h.Err == nil {
			h.Err = &PartError{h.Number, part.ref(set), "which is missing"}
		}
	}
}

// isInvalid reports whether no Secret can have the namespace and the name of a part.
func (p Part) isInvalid() bool {
	return p.Namespace != "" && len(validation.IsDNS1123Label(p.Namespace)) > 0 ||
		len(validation.IsDNS1123Subdomain(p.Name)) > 0
}

// ref returns the Secret of a part.
func (p Part) ref(set Set) object.Ref {
	return object.Ref{
		Kind: secretKind.Kind, Namespace: cmp.Or(p.Namespace, set.Namespace), Name: p.Name,
	}
}

// isGood reports whether a run that succeeded described the set, so that it can be restored. A
// destroy leaves a revision without objects.
func (h *Head) isGood() bool {
	return h.Err == nil && h.Outcome == Succeeded && h.Partial == "" && h.Objects > 0
}

// WasApplied reports whether a run has written the whole set, and may not have waited for it.
func (h *Head) WasApplied() bool {
	return h.isGood() || h.Err == nil && h.Outcome == Applied && h.Partial == "" && h.Objects > 0
}

// Repeats reports whether all revisions that are newer than one of those that List returned are of
// runs that did not succeed and were to deploy the same objects.
func Repeats(heads []Head, number int) bool {
	at := slices.IndexFunc(heads, func(h Head) bool { return h.Number == number })
	if at < 0 || heads[at].Err != nil {
		return false
	}
	return !slices.ContainsFunc(heads[:at], func(h Head) bool {
		return h.Err != nil || h.Partial != "" || h.WasApplied() || h.Content != heads[at].Content
	})
}

// LastGood returns the newest revision whose run succeeded and described the whole set, of those
// that List returned. If there is none, it is the newest one that was applied.
func LastGood(heads []Head) (Head, bool) {
	return newestGood(heads, func(Head) bool { return true })
}

// GoodBefore returns the newest good revision that differs from the newest one of all, of those
// that List returned. If there is none, it is one that was applied.
func GoodBefore(heads []Head) (Head, bool) {
	return newestGood(heads, func(h Head) bool {
		return h.Number != heads[0].Number && h.Content != heads[0].Content
	})
}

// newestGood returns the newest good revision of some heads, or else the newest one that was
// applied.
func newestGood(heads []Head, among func(Head) bool) (Head, bool) {
	for _, suits := range []func(*Head) bool{(*Head).isGood, (*Head).WasApplied} {
		for _, h := range heads {
			if suits(&h) && among(h) {
				return h, true
			}
		}
	}
	return Head{}, false
}

// LastApplied returns the newest revision whose run has written the whole set, whether or not it
// has waited for it, of those that List returned.
func LastApplied(heads []Head) (Head, bool) {
	i := slices.IndexFunc(heads, func(h Head) bool { return h.WasApplied() })
	if i < 0 {
		return Head{}, false
	}
	return heads[i], true
}

// LastGood returns the newest revision whose run succeeded and described the whole set; nil if
// there is none. It sends one request for metadata.
func (s *Store) LastGood(ctx context.Context) (*Head, error) {
	heads, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	if h, ok := LastGood(heads); ok {
		return &h, nil
	}
	return nil, nil
}

// Earlier returns the revisions of the same record that belong to another set: one that was deleted
// and created again. It sends one request for metadata.
func (s *Store) Earlier(ctx context.Context) ([]Head, error) {
	l, err := s.listWith(ctx, map[string]string{labelRevision: cluster.AnyValue})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(l.heads, func(h Head) bool {
		return h.label == s.Set.label() || h.Record != s.Set.Record
	}), nil
}

// Prune deletes the oldest revisions beyond the limit, and parts that no revision names. The newest
// revision, the last good one and pinned ones stay.
func (s *Store) Prune(ctx context.Context) error {
	l, err := s.list(ctx)
	if err != nil {
		return err
	}
	return s.prune(ctx, l)
}

func (s *Store) prune(ctx context.Context, l *listing) error {
	for i := range l.heads {
		l.heads[i].Pinned = l.heads[i].Pinned || s.Keep > 0 && l.heads[i].Number == s.Keep
	}
	excess := l.excess(s.Limit)
	named := map[string]bool{}
	for _, h := range l.heads {
		for _, part := range h.Parts {
			named[part.Name] = true
		}
	}
	var unnamed []proven
	unreadable := slices.ContainsFunc(l.heads, func(h Head) bool { return len(h.Parts) == 0 })
	for _, part := range l.parts {
		if !named[part.Name] && !unreadable { // else it may be a part of a head that cannot be read
			unnamed = append(unnamed, s.provenOf(part))
		}
	}
	return errors.Join(s.deleteRevisions(ctx, l, excess), s.delete(ctx, unnamed))
}

// excess returns the revisions beyond a limit that may be deleted, the oldest first. Of those that
// follow each other without a change of the cluster, all but the newest go before others: a set
// whose manifests differ at each run does not use up the history.
func (l *listing) excess(limit int) []Head {
	good, _ := LastGood(l.heads)
	succeeded := slices.IndexFunc(l.heads, func(h Head) bool {
		return h.Outcome == Succeeded && h.Err == nil
	})
	var excess []Head
	gone := map[int]bool{}
	for _, repeated := range []bool{true, false} {
		for i, h := range slices.Backward(l.heads) {
			stays := i == 0 || h.Number == good.Number || i == succeeded || h.Pinned || gone[i] ||
				repeated && !(h.isIdle() && l.heads[i-1].isIdle())
			if len(l.heads)-len(excess) > limit && !stays {
				gone[i], excess = true, append(excess, h)
			}
		}
	}
	return excess
}

// isIdle reports whether a run succeeded without a change.
func (h *Head) isIdle() bool {
	return h.Err == nil && len(h.Changes) == 0 && (h.Outcome == Succeeded || h.Outcome == Applied)
}

// proven is a Secret that is known to belong to a revision.
type proven struct {
	object.Ref
	uid types.UID
}

// provenOf returns the Secret with some metadata, which a list of revisions returned.
func (s *Store) provenOf(m metav1.ObjectMeta) proven {
	return proven{Part{Namespace: m.Namespace, Name: m.Name}.ref(s.Set), m.UID}
}

// deleteRevisions deletes revisions of one set, and their parts.
func (s *Store) deleteRevisions(ctx context.Context, l *listing, revisions []Head) error {
	gone := map[string]bool{} // labels of revisions
	for _, h := range revisions {
		gone[strconv.Itoa(h.Number)] = true
	}
	for _, h := range l.heads {
		if !slices.ContainsFunc(revisions, func(r Head) bool { return r.uid == h.uid }) {
			delete(gone, strconv.Itoa(h.Number)) // another head of the number stays
		}
	}
	return s.deleteWithParts(ctx, l, revisions, func(number string) bool { return gone[number] })
}

// deleteWithParts deletes heads, and then the parts with some numbers: what an interrupt leaves of
// a revision is no revision. Which parts a head names does not count, since anybody may have
// written it; the namespaces that it names are searched.
func (s *Store) deleteWithParts(
	ctx context.Context, l *listing, heads []Head, belongs func(number string) bool,
) error {
	var secrets []proven
	for _, h := range heads {
		secrets = append(secrets, s.provenOf(metav1.ObjectMeta{Name: h.name, UID: h.uid}))
	}
	if err := s.delete(ctx, secrets); err != nil {
		return err
	}
	parts := slices.Clone(l.parts)
	for _, namespace := range s.otherNamespaces(heads) {
		found, err := s.partsElsewhere(ctx, heads[0].label, namespace)
		if err != nil {
			return err
		}
		parts = append(parts, found...)
	}
	secrets = nil
	for _, part := range parts {
		if belongs(part.Labels[labelRevision]) {
			secrets = append(secrets, s.provenOf(part))
		}
	}
	return s.delete(ctx, secrets)
}

// partsElsewhere returns the metadata of the parts of a set in another namespace than that of the
// record; none if the user may not list them. Heads in two namespaces may name the same label. The
// names of the parts distinguish them: they have a hash of the namespace of the record.
func (s *Store) partsElsewhere(
	ctx context.Context, label, namespace string,
) ([]metav1.ObjectMeta, error) {
	found, err := s.Cluster.ListSecretMetadata(ctx, secretType, namespace,
		map[string]string{labelSet: label})
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("list the revisions of %q in namespace %s: %w", s.Set.Name, namespace,
			err)
	}
	set := Set{Namespace: s.Set.Namespace, ID: label}
	if label == s.Set.label() {
		set = s.Set // its ID may be no label
	}
	return slices.DeleteFunc(found, func(m metav1.ObjectMeta) bool {
		return !set.isPartElsewhere(m.Name, m.Labels)
	}), nil
}

// delete deletes Secrets. One in another namespace that may not be deleted stays, and so does one
// that replaced another with its name.
func (s *Store) delete(ctx context.Context, secrets []proven) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(deleteConcurrency)
	for _, secret := range secrets {
		group.Go(func() error {
			_, err := s.Cluster.Delete(ctx, cluster.Delete{
				Ref: secret.Ref, UID: secret.uid, Propagation: metav1.DeletePropagationBackground,
			})
			switch {
			case err == nil, apierrors.IsConflict(err),
				secret.Namespace != s.Set.Namespace && apierrors.IsForbidden(err):
				return nil
			default:
				return fmt.Errorf("delete %s: %w", secret.Ref, err)
			}
		})
	}
	return group.Wait()
}

// Resolve sets the ID of a set whose record does not exist any more, if it has revisions: to that
// of the newest one. It sends one request for metadata.
func (s *Store) Resolve(ctx context.Context) error {
	l, err := s.listWith(ctx, map[string]string{labelRevision: cluster.AnyValue})
	if err != nil {
		return err
	}
	newest := Head{}
	for _, h := range l.heads {
		if h.Record == s.Set.Record && h.Time.After(newest.Time) {
			newest = h
		}
	}
	s.Set.ID = newest.label
	return nil
}

// DeleteAll deletes all revisions, and parts that no revision names: of the set, and of earlier
// sets with the same record. One that was renamed keeps its revisions.
func (s *Store) DeleteAll(ctx context.Context) error {
	l, err := s.listWith(ctx, map[string]string{labelRevision: cluster.AnyValue})
	if err != nil {
		return err
	}
	labels := map[string]bool{}
	if s.Set.ID != "" {
		labels[s.Set.label()] = true
	}
	newest := map[string]bool{} // labels
	for _, h := range l.heads { // a set that got another record since is not deleted with this one
		if h.Record == s.Set.Record && s.Set.Record != "" && !newest[h.label] {
			labels[h.label] = true
		}
		newest[h.label] = true
	}
	if err := s.beforeDelete(ctx, l, labels); err != nil {
		return err
	}
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		if s.Exists != nil && (s.Set.ID == "" || label != s.Set.label()) {
			exists, err := s.Exists(ctx, label)
			if err != nil {
				return fmt.Errorf("find out whether revisions of %q belong to a set that was renamed: %w",
					s.Set.Record, err)
			}
			if exists {
				continue
			}
		}
		if err := s.deleteSet(ctx, label, l); err != nil {
			return err
		}
	}
	return nil
}

// beforeDelete calls BeforeDelete if there are revisions, or parts, with one of the labels.
func (s *Store) beforeDelete(ctx context.Context, l *listing, labels map[string]bool) error {
	for label := range labels {
		if part := l.of(label); s.BeforeDelete != nil && len(part.heads)+len(part.parts) > 0 {
			return s.BeforeDelete(ctx)
		}
	}
	return nil
}

// deleteSet deletes all revisions with a label of a set, and parts that no revision names.
func (s *Store) deleteSet(ctx context.Context, label string, all *listing) error {
	l := all.of(label)
	return s.deleteWithParts(ctx, l, l.heads, func(string) bool { return true })
}

// of returns the part of a listing with one label of a set.
func (l *listing) of(label string) *listing {
	part := &listing{}
	for _, h := range l.heads {
		if h.label == label {
			part.heads = append(part.heads, h)
		}
	}
	for _, m := range l.parts {
		if m.Labels[labelSet] == label {
			part.parts = append(part.parts, m)
		}
	}
	return part
}

// otherNamespaces returns the namespaces beside that of the record in which revisions have parts,
// sorted.
func (s *Store) otherNamespaces(heads []Head) []string {
	var names []string
	for _, h := range heads {
		for _, part := range h.Parts {
			if part.Namespace != "" && part.Namespace != s.Set.Namespace {
				names = append(names, part.Namespace)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
