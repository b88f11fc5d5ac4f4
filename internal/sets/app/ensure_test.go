package app

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// TestNames goes through the names that a record may have, with and without full names.
func TestNames(t *testing.T) {
	for _, tc := range []struct {
		name      string
		have      []string // records as NAME=VALUE
		ask, prev string
		full, dry bool
		left      []string
		isNew     bool
	}{
		{name: "new", ask: "web", left: []string{"n/web"}, isNew: true},
		{name: "new, in a dry run", ask: "web", dry: true, isNew: true},
		{name: "new, in full", ask: "web", full: true, left: []string{"n/web.apps.k14s.io"}, isNew: true},
		{name: "new, asked for in full", ask: "web.apps.k14s.io", full: true,
			left: []string{"n/web.apps.k14s.io"}, isNew: true},
		{name: "plain stays", have: []string{"web=1"}, ask: "web", left: []string{"n/web"}},
		{name: "full stays", have: []string{"web.apps.k14s.io=1"}, ask: "web",
			left: []string{"n/web.apps.k14s.io"}},
		{name: "plain becomes full", have: []string{"web=1"}, ask: "web", full: true,
			left: []string{"n/web.apps.k14s.io"}},
		{name: "but not in a dry run", have: []string{"web=1"}, ask: "web", full: true, dry: true,
			left: []string{"n/web"}},
		{name: "an interrupted migration ends", have: []string{"web=1", "web.apps.k14s.io=1"}, ask: "web",
			left: []string{"n/web.apps.k14s.io"}},
		{name: "two apps stay two", have: []string{"web=2", "web.apps.k14s.io=1"}, ask: "web",
			left: []string{"n/web", "n/web.apps.k14s.io"}},
		{name: "previous", have: []string{"old=1"}, ask: "web", prev: "old", left: []string{"n/web"}},
		{name: "previous, full", have: []string{"old.apps.k14s.io=1"}, ask: "web", prev: "old",
			left: []string{"n/web.apps.k14s.io"}},
		{name: "previous becomes full", have: []string{"old=1"}, ask: "web", prev: "old", full: true,
			left: []string{"n/web.apps.k14s.io"}},
		{name: "previous, in a dry run", have: []string{"old=1"}, ask: "web", prev: "old", dry: true,
			left: []string{"n/old"}},
		{name: "previous is not looked for", have: []string{"old=2", "web=1"}, ask: "web", prev: "old",
			left: []string{"n/old", "n/web"}},
		{name: "no previous", ask: "web", prev: "old", left: []string{"n/web"}, isNew: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			s := newStore(f)
			s.FullNames = tc.full
			for _, have := range tc.have {
				name, value, _ := strings.Cut(have, "=")
				f.put(recorded("n", name, spec(value, "[]"), isApp))
			}
			app, err := s.Ensure(
				t.Context(),
				Request{Name: tc.ask, PreviousName: tc.prev, Namespace: "n", DryRun: tc.dry},
			)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.left, f.names()); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if app.Name != "web" || app.IsNew != tc.isNew || !tc.isNew && app.Meta.LabelValue != "1" {
				t.Errorf("app %+v", app)
			}
			if !tc.dry {
				checkPlanned(
					t,
					tc.have,
					tc.left,
					Request{Name: tc.ask, PreviousName: tc.prev, Namespace: "n"},
					tc.full,
				)
			}
			if tc.full && !tc.dry {
				if _, ok := app.stored.GetAnnotations()["kapp.k14s.io/is-configmap-migrated"]; !ok {
					t.Errorf("annotations %v", app.stored.GetAnnotations())
				}
			}
		})
	}
}

// checkPlanned does the same in two steps: first the app is planned, then its record is written.
func checkPlanned(t *testing.T, have, left []string, r Request, full bool) {
	t.Helper()
	f := newFake()
	s := newStore(f)
	s.FullNames = full
	for _, have := range have {
		name, value, _ := strings.Cut(have, "=")
		f.put(recorded("n", name, spec(value, "[]"), isApp))
	}
	r.DryRun = true
	app, err := s.Ensure(t.Context(), r)
	if err == nil {
		err = app.Commit(t.Context(), r)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(left, f.names()); diff != "" {
		t.Errorf("records of an app that was planned (-want +got):\n%s", diff)
	}
}

func TestRename(t *testing.T) {
	for _, tc := range []struct {
		name    string
		have    []string
		to, ns  string
		full    bool
		want    []string
		refused string
	}{
		{name: "name", have: []string{"a=1"}, to: "b", ns: "n", want: []string{"n/b"}},
		{name: "namespace", have: []string{"a=1"}, to: "a", ns: "m", want: []string{"m/a"}},
		{name: "stays full", have: []string{"a.apps.k14s.io=1"}, to: "b", ns: "n",
			want: []string{"n/b.apps.k14s.io"}},
		{name: "no second suffix", have: []string{"a.apps.k14s.io=1"}, to: "b.apps.k14s.io", ns: "n",
			want: []string{"n/b.apps.k14s.io"}},
		{name: "becomes full", have: []string{"a=1"}, to: "a", ns: "n", full: true,
			want: []string{"n/a.apps.k14s.io"}},
		{name: "an interrupted attempt ends", have: []string{"a=1", "b=1"}, to: "b", ns: "n",
			want: []string{"n/b"}},
		{name: "itself", have: []string{"a=1"}, to: "a", ns: "n", want: []string{"n/a"},
			refused: `Creating app: configmaps "a" already exists`},
		{name: "taken", have: []string{"a=1", "b=2"}, to: "b", ns: "n", want: []string{"n/a", "n/b"},
			refused: `Creating app: configmaps "b" already exists`},
		{name: "taken in full", have: []string{"a=1", "b.apps.k14s.io=2"}, to: "b", ns: "n",
			want:    []string{"n/a", "n/b.apps.k14s.io"},
			refused: `Creating app: configmaps "b.apps.k14s.io" already exists`},
		{name: "impossible", have: []string{"a=1"}, to: "B", ns: "n", want: []string{"n/a"},
			refused: "Expected app name 'B' to be usable"},
		{name: "empty", have: []string{"a=1"}, ns: "n", want: []string{"n/a"},
			refused: "Expected app name to be non-empty"},
		{name: "labels", have: []string{"a=1"}, to: "label:x=y", ns: "n", want: []string{"n/a"},
			refused: "Expected new app name"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			s := newStore(f)
			s.FullNames = tc.full
			for _, have := range tc.have {
				name, value, _ := strings.Cut(have, "=")
				f.put(
					recorded(
						"n",
						name,
						spec(value, `[{"Group":"","Kind":"`+strings.ToUpper(name[:1])+`"}]`),
						isApp,
						"x=y",
					),
				)
			}
			app, err := s.Find(t.Context(), "a", "n")
			if err != nil {
				t.Fatal(err)
			}
			err = app.Rename(t.Context(), tc.to, tc.ns, false)
			if (err == nil) != (tc.refused == "") ||
				err != nil && !strings.HasPrefix(err.Error(), tc.refused) {
				t.Errorf("error %v, want %s", err, tc.refused)
			}
			if diff := cmp.Diff(tc.want, f.names()); diff != "" {
				t.Fatalf("records (-want +got):\n%s", diff)
			}
			if err != nil {
				return
			}
			if app.Labels()["x"] != "y" || app.Meta.LabelValue != "1" {
				t.Errorf("app %+v", app)
			}
			if got := app.Meta.JSON(); len(tc.have) == 2 &&
				got != spec("1", `[{"Group":"","Kind":"A"},{"Group":"","Kind":"B"}]`) {
				t.Errorf("kinds of both: %s", got)
			}
		})
	}
}

// The records of deployments go along on request, with their names, and an interrupted call can be
// repeated. Without their record, nothing would find those that are left.
func TestRenameChanges(t *testing.T) {
	for _, tc := range []struct {
		to, ns string
		want   []string
	}{
		{"b", "n", []string{"n/a-change-1", "n/a-change-2", "n/b"}},
		{"a", "m", []string{"m/a", "m/a-change-1", "m/a-change-2"}},
		{"b", "m", []string{"m/a-change-1", "m/a-change-2", "m/b"}},
	} {
		f := newFake()
		s := newStore(f)
		f.put(recorded("n", "a", spec("1", `[]`), isApp))
		for _, name := range []string{"a-change-1", "a-change-2"} {
			f.put(recorded("n", name, "{}", "kapp.k14s.io/is-app-change=",
				"kapp.k14s.io/app-change-app=a", "kapp.k14s.io/app-change-app-label=1"))
		}
		if tc.ns != "n" { // an interrupted call has moved the first one, and deleted nothing
			f.put(recorded("m", tc.to, spec("1", `[]`), isApp))
			f.put(recorded("m", "a-change-1", "{}", "kapp.k14s.io/is-app-change=",
				"kapp.k14s.io/app-change-app="+tc.to, "kapp.k14s.io/app-change-app-label=1"))
		}
		app, err := s.Find(t.Context(), "a", "n")
		if err != nil {
			t.Fatal(err)
		}
		if err := app.Rename(t.Context(), tc.to, tc.ns, true); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, f.names()); diff != "" {
			t.Errorf("records in %s/%s (-want +got):\n%s", tc.ns, tc.to, diff)
		}
		changes, err := app.RecordedDeployments(t.Context())
		if err != nil || len(changes) != 2 {
			t.Errorf("%d changes of the app %s/%s, error %v", len(changes), tc.ns, tc.to, err)
		}
	}
}

// What another run writes on a record while it is moved is not lost.
func TestRenameMeetsAnother(t *testing.T) {
	f := newFake()
	s := newStore(f)
	f.put(recorded("n", "a", spec("1", `[{"Group":"","Kind":"A"}]`), isApp))
	app, err := s.Find(t.Context(), "a", "n")
	if err != nil {
		t.Fatal(err)
	}
	f.put(recorded("n", "a", spec("1", `[{"Group":"","Kind":"A"},{"Group":"","Kind":"B"}]`), isApp))
	if err := app.Rename(t.Context(), "b", "n", false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"n/b"}, f.names()); diff != "" {
		t.Fatalf("records (-want +got):\n%s", diff)
	}
	if got, want := specOf(t, f, "n", "b"), spec("1",
		`[{"Group":"","Kind":"A"},{"Group":"","Kind":"B"}]`); got != want {
		t.Errorf("record %s, want %s", got, want)
	}
}

// Whatever is wrong with a record, nothing is written and nothing deleted.
func TestBadRecords(t *testing.T) {
	const unreadable = "App 'web' (namespace: n) backed by ConfigMap 'web' did not contain " +
		"parseable app metadata: "
	const hint = " (hint: ConfigMap was overriden by another user?)"
	for text, want := range map[string]string{
		"": unreadable +
			"Parsing app metadata: unexpected end of JSON input" + hint,
		`{"labelKey":3}`: unreadable +
			"Parsing app metadata: json: cannot unmarshal number into Go struct field Meta.labelKey of " +
			"type string" + hint,
		"null": unreadable +
			"Expected 'labelKey' and 'labelValue' to be non-empty" + hint,
		`{"labelKey":"a"}`: unreadable +
			"Expected 'labelKey' and 'labelValue' to be non-empty" + hint,
		`{"labelValue":"a"}`: unreadable +
			"Expected 'labelKey' and 'labelValue' to be non-empty" + hint,
		`{"labelKey":"a b","labelValue":"1"}`: unreadable +
			"Expected 'labelKey' to be a label key, but was 'a b': ",
		`{"labelKey":"a","labelValue":"1,b=c"}`: unreadable +
			"Expected 'labelValue' to be a label value, but was '1,b=c': ",
		`{"labelKey":"a","labelValue":"1","usedGKs":[1]}`: unreadable + "Parsing app metadata: ",
		`{"labelKey":"a","labelValue":"1"}`: "App 'web' (namespace: n) backed by ConfigMap 'web' is " +
			"not marked as an app: it has lost the label " +
			"'kapp.k14s.io/is-app' (hint: put it back with: kubectl label configmap web -n n " +
			"kapp.k14s.io/is-app=)",
	} {
		f := newFake()
		f.put(recorded("n", "web", text, "some=label"))
		_, err := newStore(f).Ensure(t.Context(), Request{Name: "web", Namespace: "n"})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if diff := cmp.Diff([]string{"get n/web", "get n/web.apps.k14s.io"}, f.requests()); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", text, diff)
		}
	}
}

func TestEnsureRefuses(t *testing.T) {
	for _, tc := range []struct {
		request Request
		want    string
	}{
		{Request{Namespace: "n"}, "Expected app name to be non-empty"},
		{Request{Name: "a"}, "Expected non-empty namespace"},
		{Request{Name: "A b", Namespace: "n"}, "Expected app name 'A b' to be usable as the name of a " +
			"ConfigMap: a lowercase RFC 1123 subdomain"},
		{Request{Name: strings.Repeat("a", 254), Namespace: "n"}, "Expected app name 'aaa"},
		{Request{Name: "web", Namespace: "n", Labels: map[string]string{"x": "z"}},
			"Expected label 'x' value to remain same"},
		{Request{Name: "web", Namespace: "n", Labels: map[string]string{"x": "z"}, DryRun: true},
			"Expected label 'x' value to remain same"},
		{Request{Name: "new", Namespace: "n", PreviousName: "web", Labels: map[string]string{"x": "z"}},
			"Expected label 'x' value to remain same"},
		{Request{Name: "new", Namespace: "n", PreviousName: "label:x"},
			"Expected previous app name to be the name of an app, but was 'label:x'"},
	} {
		f := newFake()
		f.put(recorded("n", "web", spec("1", "[]"), isApp, "x=y"))
		if _, err := newStore(f).Ensure(t.Context(), tc.request); err == nil ||
			!strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %s", tc.request, err, tc.want)
		}
		if names := f.names(); len(names) != 1 {
			t.Errorf("%+v: %v", tc.request, names)
		}
	}
}

// Somebody else may create the app, or add a label to it, at the same moment.
func TestEnsureMeetsAnother(t *testing.T) {
	f := newFake()
	s := newStore(f)
	f.refuse = func(sent string) error {
		if sent == "create n/web" {
			f.put(recorded("n", "web", spec("7", "[]"), isApp))
		}
		return nil
	}
	app, err := s.Ensure(
		t.Context(),
		Request{Name: "web", Namespace: "n", Labels: map[string]string{"x": "y"}},
	)
	if err != nil || app.IsNew || app.Meta.LabelValue != "7" || app.Labels()["x"] != "y" {
		t.Errorf("%+v, %v", app, err)
	}
	if sent := f.requests(); len(sent) != 6 {
		t.Errorf("requests %v", sent)
	}
	f.refuse = func(sent string) error {
		switch sent {
		case "get n/a":
			return apierrors.NewForbidden(configMaps, "a", errors.New("no"))
		case "create n/b":
			return errors.New("no room")
		}
		return nil
	}
	for name, want := range map[string]string{"a": "Getting app: configmaps \"a\" is forbidden: no",
		"b": "Creating app: no room"} {
		if _, err := s.Ensure(t.Context(), Request{Name: name, Namespace: "n"}); err == nil ||
			err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// lossy is a cluster in which the answer to a creation was lost, and that takes what somebody else
// has made for it.
type lossy struct{ *fake }

func (l lossy) Write(ctx context.Context, w cluster.Write) (*unstructured.Unstructured, error) {
	if live, ok := l.objects[object.RefOf(w.Object)]; ok && w.Method == cluster.Create {
		return live.DeepCopy(), nil
	}
	return l.fake.Write(ctx, w)
}

// The record of another run is not taken for ours: its label would be lost with the next write.
func TestCreateMeetsAnother(t *testing.T) {
	f := newFake()
	s := newStore(f)
	s.Cluster = lossy{f}
	request := Request{Name: "web", Namespace: "n", DryRun: true}
	app, err := s.Ensure(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	f.put(recorded("n", "web", spec("7", "[]"), isApp))
	if err := app.Commit(t.Context(), request); err == nil ||
		!strings.Contains(err.Error(), "was created by another run meanwhile") {
		t.Errorf("settle: %v", err)
	}
	if got := specOf(t, f, "n", "web"); got != spec("7", "[]") {
		t.Errorf("the record: %s", got)
	}
}

// A name that no record can have is that of no app.
func TestFindImpossible(t *testing.T) {
	f := newFake()
	app, err := newStore(f).Find(t.Context(), "../x", "n")
	if err != nil || app.Exists() || len(f.requests()) > 0 {
		t.Errorf("%+v, %v", app, err)
	}
	if err := app.Begin(t.Context(), "update", nil, false); err == nil ||
		!strings.HasPrefix(err.Error(), "Updating app: ") {
		t.Errorf("begin without a record: %v", err)
	}
}

// An old app finds the records of its changes by its name.
func TestOldApp(t *testing.T) {
	f := newFake()
	f.put(recorded("n", "web", spec("1", "null"), isApp))
	change := `{"startedAt":"2026-11-21T09:26:13.6Z","finishedAt":"0001-01-01T00:00:00Z"}`
	f.put(
		recorded(
			"n",
			"web-change-1",
			change,
			"kapp.k14s.io/is-app-change=",
			"kapp.k14s.io/app-change-app=web",
		),
	)
	f.put(
		recorded(
			"n",
			"web-change-2",
			"{",
			"kapp.k14s.io/is-app-change=",
			"kapp.k14s.io/app-change-app=web",
		),
	)
	app, err := newStore(f).Find(t.Context(), "web", "n")
	if err != nil {
		t.Fatal(err)
	}
	const want = "App change 'web-change-2' (namespace: n) did not contain parseable app change " +
		"metadata: Parsing app change metadata: "
	if _, err := app.RecordedDeployments(t.Context()); err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("changes: %v", err)
	}
	if deleted, kept, err := app.TrimRecords(t.Context(), 1); deleted != 1 || kept != 1 || err != nil {
		t.Errorf("trim: %d, %d, %v", deleted, kept, err)
	}
	if diff := cmp.Diff([]string{"n/web", "n/web-change-2"}, f.names()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}
