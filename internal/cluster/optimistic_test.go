package cluster

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRetryOnConflict(t *testing.T) {
	maps := schema.GroupResource{Resource: "configmaps"}
	conflict := apierrors.NewConflict(maps, "a", errors.New("changed"))
	absent, other := apierrors.NewNotFound(maps, "a"), errors.New("other")
	for name, test := range map[string]struct {
		answers       []error // to the writes; nil to all further ones
		unread        error   // the error of every reread
		more          func(error) bool
		writes, reads int
		want          error
	}{
		"success":                {nil, nil, nil, 1, 0, nil},
		"a conflict":             {[]error{conflict}, nil, nil, 2, 1, nil},
		"another error":          {[]error{conflict, other}, nil, nil, 2, 1, other},
		"not found":              {[]error{absent}, nil, apierrors.IsConflict, 1, 0, absent},
		"not found, accepted":    {[]error{absent, conflict}, nil, apierrors.IsNotFound, 3, 2, nil},
		"an error of reread":     {[]error{conflict}, other, nil, 1, 1, other},
		"a conflict of reread":   {[]error{conflict}, conflict, nil, 1, 1, conflict},
		"nine conflicts":         {conflicts(conflict, 9), nil, nil, 10, 9, nil},
		"conflicts without end":  {conflicts(conflict, 99), nil, nil, 10, 9, conflict},
		"accepted without limit": {conflicts(absent, 99), nil, apierrors.IsNotFound, 10, 9, absent},
	} {
		writes, reads := 0, 0
		err := RetryOnConflict(func() error {
			writes++
			if writes > len(test.answers) {
				return nil
			}
			return test.answers[writes-1]
		}, func(refused error) error {
			if reads++; refused != test.answers[writes-1] {
				t.Errorf("%s: reread after %v", name, refused)
			}
			return test.unread
		}, test.more)
		if err != test.want || writes != test.writes || reads != test.reads {
			t.Errorf("%s: %v after %d writes and %d reads, want %v after %d and %d",
				name, err, writes, reads, test.want, test.writes, test.reads)
		}
	}
}

func conflicts(err error, count int) []error {
	all := make([]error, count)
	for i := range all {
		all[i] = err
	}
	return all
}
