package managed

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/muster-deploy/muster/internal/cluster"
)

// Record identifies the record of a set.
type Record struct {
	Format    string // Package or App
	Namespace string
	Name      string
}

// Record returns the record of the objects that the Set describes.
func (s *Set) Record() Record {
	r := Record{Format: cmp.Or(s.Spec.Format, Package), Namespace: s.Namespace, Name: s.Name}
	if r.Format == App {
		r.Name = cmp.Or(s.Spec.App.Name, s.Name)
	}
	return r
}

// OwnedError reports a set that a Set owns, so that only the controller changes it.
type OwnedError struct{ Set Set }

func (e *OwnedError) Error() string {
	r := e.Set.Record()
	return fmt.Sprintf("the %s %q in namespace %s belongs to %s, which the controller keeps as its "+
		"source has it", r.Format, r.Name, r.Namespace, e.Set.Title())
}

// CheckOwner returns an *OwnedError if a Set that is not suspended has the record, which is in its
// own cluster. Unknown says why it is not known whether there is one; it is nil if it is. A cluster
// without the kind costs no request, another one list of the Sets in the namespace.
func CheckOwner(ctx context.Context, c cluster.Writer, r Record) (unknown, err error) {
	all, err := List(ctx, c, r.Namespace)
	none := (*NoKindError)(nil)
	switch {
	case errors.As(err, &none), apierrors.IsNotFound(err): // the definition may be gone since
		return nil, nil
	case apierrors.IsForbidden(err), isUndescribed(err):
		return err, nil
	case err != nil:
		return nil, err
	}
	for _, s := range all {
		if s.Record() == r && !s.Spec.Suspend && !s.Elsewhere() {
			return nil, &OwnedError{Set: s}
		}
	}
	return nil, nil
}

// isUndescribed reports whether the server could not describe the group of Sets.
func isUndescribed(err error) bool {
	unknown := (*cluster.UnknownKindError)(nil)
	return errors.As(err, &unknown)
}
