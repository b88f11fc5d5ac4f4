package plan

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
)

// released returns the fields of a live object that a server-side apply removes whoever owns them:
// what the set has applied in another way, client-side or with another field manager, and neither
// the manifest nor what is sent has; nil for none.
func (w writeMode) released(
	live, manifest, sent *unstructured.Unstructured,
) (*diff.FieldSet, error) {
	if w.lastApplied == "" {
		return nil, nil
	}
	field, key := w.owner.mark()
	var applied *unstructured.Unstructured
	var err error
	switch {
	case diff.ClientSideManagers(live, w.lastApplied).Len() > 0:
		if applied = appliedTo(live, w.lastApplied); !w.strict {
			applied, _, err = w.base(live, manifest)
		}
	case !w.strict && w.owner.Marks() && w.owner.Owns(live) &&
		(diff.HasUpdated(live, w.manager) || diff.IsMarkedByOthers(live, w.manager, field, key)):
		applied, err = diff.AppliedPart(live, manifest, w.setter())
	case !w.strict && w.owner.Marks() && !w.owner.Owns(live) &&
		w.owner.adoptionOf(live) == AdoptAll:
		applied, err = w.appliedByOthers(live, manifest)
	}
	if err != nil || applied == nil {
		return nil, err
	}
	if w.encodes {
		applied = diff.WithEncodedData(applied)
	}
	applied = diff.WithFormerNames(applied, manifest, live)
	if !w.strict {
		if manifest, err = diff.WithAdded(manifest, applied, live, w.setter()); err != nil {
			return nil, err
		}
	}
	_, result, err := diff.ThreeWay(applied, manifest, live)
	if unmerged := (*diff.MergeError)(nil); errors.As(err, &unmerged) {
		return nil, nil // the server may merge what we cannot
	}
	if err == nil {
		result, err = w.ignore.Keep(result, live)
	}
	if err != nil {
		return nil, fmt.Errorf("compare with what was applied: %w", err)
	}
	fields, err := diff.Released(live, result, sent)
	if err != nil || fields.Empty() {
		return nil, err
	}
	return fields, nil
}
