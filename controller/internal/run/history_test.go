package run

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster"
	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/source"
)

// TestHistory: a revision says where its objects come from, and of git which commit they are.
func TestHistory(t *testing.T) {
	artifact := v1alpha1.Source{Artifact: &v1alpha1.ArtifactSource{Name: "shop"}}
	oci := v1alpha1.Source{OCI: &v1alpha1.OCISource{URL: "oci://registry.example.com/shop"}}
	for _, test := range []struct {
		source   v1alpha1.Source
		revision string
		want     muster.HistoryOptions
	}{
		{artifact, "main@sha1:7aa5db9", muster.HistoryOptions{
			Message: "Set team-a/shop from the source, main@sha1:7aa5db9",
			Branch:  "main", Commit: "7aa5db9"}},
		{artifact, "refs/tags/v1.2.0@sha1:7aa5db9", muster.HistoryOptions{
			Message: "Set team-a/shop from the source, refs/tags/v1.2.0@sha1:7aa5db9",
			Branch:  "refs/tags/v1.2.0", Commit: "7aa5db9"}},
		{artifact, "sha1:7aa5db9", muster.HistoryOptions{
			Message: "Set team-a/shop from the source, sha1:7aa5db9", Commit: "7aa5db9"}},
		{artifact, "latest@sha256:7aa5db9", muster.HistoryOptions{
			Message: "Set team-a/shop from the source, latest@sha256:7aa5db9"}},
		{oci, "1@sha256:7aa5db9", muster.HistoryOptions{
			Message: "Set team-a/shop", Source: "oci://registry.example.com/shop:1@sha256:7aa5db9"}},
		{v1alpha1.Source{Inline: new(string)}, "7aa5db9", muster.HistoryOptions{
			Message: "Set team-a/shop from the source"}},
	} {
		set := &v1alpha1.Set{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "shop"}}
		set.Spec.Source = test.source
		j := &job{runner: &Runner{}, set: set}
		got := j.history(&source.Fetched{Name: "the source", Revision: test.revision})
		if got != test.want {
			t.Errorf("%s: %+v, want %+v", test.revision, got, test.want)
		}
	}
}
