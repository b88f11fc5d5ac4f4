package history

import "context"

// Predecessor returns the ID of the set that had the record before, which was deleted and has left
// its revisions, unless this one has revisions already; empty for none. One whose ID was made just
// now has none. If there is a predecessor, the next request lists again: the set may have the ID
// then.
func (s *Store) Predecessor(ctx context.Context, isNew bool) (id string, err error) {
	if isNew {
		s.listed = &listing{}
	}
	heads, err := s.ListToWrite(ctx)
	if err != nil || len(heads) > 0 {
		return "", err
	}
	earlier := &Store{Cluster: s.Cluster, Set: s.Set}
	if err := earlier.Resolve(ctx); err != nil || earlier.Set.ID == "" {
		return "", err
	}
	if renamed, err := s.Exists(ctx, earlier.Set.ID); renamed || err != nil {
		return "", err
	}
	s.listed = nil
	return earlier.Set.ID, nil
}
