package cluster

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// maxWrites is how often a write is tried that conflicts with the writes of others.
const maxWrites = 10

// RetryOnConflict calls write, at most maxWrites times, until it returns no conflict or another
// error that more accepts; nil accepts none. Before it repeats the write it calls reread with that
// error, to read what others have written. An error of reread ends it, even a conflict: this is why
// the package util/retry of client-go, which has no such step, does not fit. Otherwise the result
// is that of the last write. There is no pause, because a conflict means that another write
// succeeded.
func RetryOnConflict(
	write func() error, reread func(conflict error) error, more func(error) bool,
) error {
	for attempt := 1; ; attempt++ {
		err := write()
		again := apierrors.IsConflict(err) || err != nil && more != nil && more(err)
		if !again || attempt == maxWrites {
			return err
		}
		if err := reread(err); err != nil {
			return err
		}
	}
}
