package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
)

// Names of revisions beside their numbers.
const (
	Last = "last" // the newest one
	Good = "good" // the one of LastGood
)

// IsName reports whether a text names a revision: a number, Last or Good.
func IsName(text string) bool {
	number, err := strconv.Atoi(text)
	return err == nil && number > 0 || text == Last || text == Good
}

// ErrName reports a text that names no revision.
var ErrName = errors.New("not the number of a revision, last or good")

// ErrNoneGood reports a history without a revision that Good names.
var ErrNoneGood = errors.New("no revision describes the whole set and succeeded")

// Find returns the revision that a text names, of those that List returned. The error is ErrName,
// ErrNoneGood or a *NotFoundError.
func (s *Store) Find(heads []Head, text string) (Head, error) {
	number, err := strconv.Atoi(text)
	switch {
	case text == Last && len(heads) > 0:
		return heads[0], nil
	case text == Last:
		return Head{}, &NotFoundError{Set: s.Set}
	case text == Good:
		if h, ok := LastGood(heads); ok {
			return h, nil
		}
		return Head{}, ErrNoneGood
	case err != nil || number <= 0:
		return Head{}, fmt.Errorf("%q: %w", text, ErrName)
	}
	i := slices.IndexFunc(heads, func(h Head) bool { return h.Number == number })
	if i < 0 {
		return Head{}, &NotFoundError{s.Set, number}
	}
	return heads[i], nil
}

// Pin lets Prune keep a revision, or not any more. It sends one request unless that is the case
// already.
func (s *Store) Pin(ctx context.Context, h Head, pinned bool) error {
	if h.Pinned == pinned {
		return nil
	}
	value := any(nil)
	if pinned {
		value = ""
	}
	return s.annotate(ctx, h, annotationPinned, value)
}

// annotate sets an annotation of a head; nil removes it. It sends one request.
func (s *Store) annotate(ctx context.Context, h Head, key string, value any) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{key: value}},
	})
	if err != nil {
		return err
	}
	head := &unstructured.Unstructured{Object: map[string]any{}}
	head.SetGroupVersionKind(secretKind)
	head.SetNamespace(s.Set.Namespace)
	head.SetName(h.name)
	_, err = s.Cluster.Write(ctx, cluster.Write{
		Object: head, Method: cluster.Patch, PatchType: types.MergePatchType, Patch: patch,
		UID: h.uid, Manager: s.Manager,
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // another Secret has its name
		return &NotFoundError{s.Set, h.Number}
	}
	if err != nil {
		return fmt.Errorf("annotate revision %d of %q: %w", h.Number, s.Set.Name, err)
	}
	return nil
}
