package cluster

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A list whose pages expire, since the server forgets what has changed in between, is read once
// more, at once as a whole. Nothing is found twice.
func TestExpiredPages(t *testing.T) {
	gk := schema.GroupKind{Kind: "Secret"}
	all, two := []string{"one", "three", "two"}, []string{"one", "two"}
	for name, tc := range map[string]struct {
		limit, next string // sizes of pages
		of          string // prefix of the names of answers
		want        []string
		find        func(ctx context.Context, c *Client) (names []string, err error)
	}{
		"list": {"500", "500", "", all,
			func(ctx context.Context, c *Client) (names []string, err error) {
				found, err := c.List(ctx, gk, "n", nil)
				for _, obj := range found {
					names = append(names, obj.GetName())
				}
				return names, err
			}},
		"metadata": {"500", "500", "metadata ", all,
			func(ctx context.Context, c *Client) (names []string, err error) {
				found, err := c.ListMetadata(ctx, gk, "n", nil)
				for _, m := range found {
					names = append(names, m.Name)
				}
				return names, err
			}},
		"read": {"20", "500", "", two,
			func(ctx context.Context, c *Client) (names []string, err error) {
				found, err := c.Read(ctx, []Target{{Ref: secretNamed("one")}, {Ref: secretNamed("two")}})
				if err != nil {
					return nil, err
				}
				for ref := range found.Objects {
					names = append(names, ref.Name)
				}
				return names, nil
			}},
		"query": {"100", "100", "", all,
			func(ctx context.Context, c *Client) (names []string, err error) {
				listed := make(chan error)
				c.WatchQuery(ctx, Query{Kind: gk, Namespace: "n", Once: true}, func(e ObjectEvent) {
					switch {
					case e.Listed:
						listed <- e.Err
					case !slices.Contains(names, e.Ref.Name): // a state may be reported twice
						names = append(names, e.Ref.Name)
					}
				})
				err = <-listed
				return names, err
			}},
	} {
		t.Run(name, func(t *testing.T) {
			answers := recordedAnswers(t)
			a := &api{groups: secretsOfAPI(), answers: map[string][]any{
				secretsPath + "?limit=" + tc.limit:           {answers[tc.of+"page"]},
				secretsPath + "?continue=c&limit=" + tc.next: {answers["expired page"]},
				secretsPath:              {answers[tc.of+"list"]},
				secretsPath + "?limit=0": {answers[tc.of+"list"]},
			}}
			names, err := tc.find(t.Context(), a.start(t))
			slices.Sort(names)
			if diff := cmp.Diff(tc.want, names); diff != "" || err != nil {
				t.Errorf("%v; found (-want +got):\n%s", err, diff)
			}
			if asked := a.requests(); len(asked) != 3 {
				t.Errorf("asked %q", asked)
			}
		})
	}
}

// A query that relists reports a list that fails, and the next one; others report the failure only.
func TestQueryRelists(t *testing.T) {
	for _, relists := range []bool{false, true} {
		answers := recordedAnswers(t)
		a := &api{groups: secretsOfAPI(), answers: map[string][]any{
			secretsPath + "?limit=100": {recorded{code: 500, body: "{}"}, answers["list"]},
		}}
		c := a.start(t)
		var failures []bool
		found, done := make(chan struct{}, 9), make(chan struct{}, 9)
		query := Query{
			Kind: schema.GroupKind{Kind: "Secret"}, Namespace: "n", Once: true, Relists: relists,
		}
		c.WatchQuery(t.Context(), query, func(e ObjectEvent) {
			switch {
			case e.Listed:
				failures = append(failures, e.Err != nil)
				done <- struct{}{}
			default:
				found <- struct{}{}
			}
		})
		<-done
		<-found
		want := []bool{true}
		if relists {
			<-done
			want = append(want, false)
		}
		if !slices.Equal(failures, want) {
			t.Errorf("relists %t: failures %t", relists, failures)
		}
	}
}
