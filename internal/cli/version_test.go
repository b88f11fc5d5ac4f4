package cli

import (
	"runtime/debug"
	"testing"
)

// The build has what Go recorded about version control.
func TestNewBuild(t *testing.T) {
	if b := newBuild(nil); b.Commit != "" || b.GoVersion == "" || b.Platform == "" {
		t.Errorf("without information: %+v", b)
	}
	b := newBuild(&debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
		{Key: "vcs.modified", Value: "true"},
	}})
	if b.Commit != "abc" || b.CommitTime != "2026-01-02T03:04:05Z" || !b.Modified {
		t.Errorf("got %+v", b)
	}
}
