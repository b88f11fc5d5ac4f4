package sets

import (
	"testing"

	"github.com/muster-deploy/muster/internal/record"
)

// The conditions of members say how the run ended that stored them.
func TestMemberResult(t *testing.T) {
	member := func(actuation, reconcile record.Progress) record.Member {
		return record.Member{Actuation: actuation, Reconcile: reconcile}
	}
	done := member(record.Succeeded, record.Succeeded)
	for _, tc := range []struct {
		name    string
		members []record.Member
		want    Result
	}{
		{"no members", nil, ""},
		{"no conditions", []record.Member{{}}, ""},
		{"all ready", []record.Member{done, done}, Succeeded},
		{"not waited for", []record.Member{member(record.Succeeded, record.Skipped), done}, Applied},
		{"excluded", []record.Member{done, member(record.Skipped, record.Skipped)}, Succeeded},
		{"nor written", []record.Member{
			member(record.Pending, ""), member(record.Succeeded, record.Skipped),
		}, Unfinished},
		{"being waited for", []record.Member{done, member(record.Succeeded, record.Pending)}, Unfinished},
		{"not written yet", []record.Member{member(record.Pending, record.Pending), done}, Unfinished},
		{"not written", []record.Member{member(record.Pending, ""), member(record.Failed, "")}, Failed},
		{"late", []record.Member{done, member(record.Succeeded, record.TimedOut), done}, Failed},
	} {
		if got := memberResult(tc.members); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
