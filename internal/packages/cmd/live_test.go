package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/golden"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/view"
)

// TestLive prints runs in the forms of kpt live, and in the JSON of the native commands. Archives
// are as those of TestWording; a section failure is the error that ends the run.
func TestLive(t *testing.T) {
	now := func() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC) }
	golden.Run(
		t,
		"testdata/live_*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			p := steps(t, files["steps"])
			p.Destroys = strings.TrimSpace(files["command"]) == "destroy"
			waits := strings.TrimSpace(files["command"]) != "dry-run"
			phased := view.PhaseOptions{Rounds: true, Waits: waits}
			seen := view.PhaseOptions{Rounds: true, Waits: waits, Statuses: true}
			forms := map[string]func(*bytes.Buffer) view.Printer{
				"events": func(out *bytes.Buffer) view.Printer {
					return liveLines(out, p, phased, liveReasons(""))
				},
				"statuses": func(out *bytes.Buffer) view.Printer {
					return liveLines(out, p, seen, liveReasons(""))
				},
				"json": func(out *bytes.Buffer) view.Printer {
					lines := view.JSONLines{Out: out, Now: now, Reason: liveReasons("")}
					return view.Phases(p, phased, lines.Print)
				},
				"native.json": func(out *bytes.Buffer) view.Printer {
					return view.Phases(
						p, view.PhaseOptions{Waits: waits, Unstarted: true},
						view.JSONLines{Out: out, Now: now, Reason: view.PlainReason, Detailed: true}.Print,
					)
				},
				"native.waves.json": func(out *bytes.Buffer) view.Printer {
					return view.Phases(
						p, view.PhaseOptions{Rounds: true, Waits: waits, Unstarted: true},
						view.JSONLines{Out: out, Now: now, Reason: view.PlainReason, Detailed: true}.Print,
					)
				},
				"table": func(out *bytes.Buffer) view.Printer {
					return view.Table(out, view.Terminal{}, view.PlanRows(p), view.TableOptions{
						Columns: liveTable(p, now),
						Run:     view.NewRunState(p),
						Reason:  liveReasons(""),
						Footer:  "\n",
					})
				},
				"native.table": func(out *bytes.Buffer) view.Printer {
					return view.Table(out, view.Terminal{}, view.PlanRows(p), view.TableOptions{
						Columns: nativeTable(p, now),
						Run:     view.NewRunState(p),
						Reason:  view.PlainReason,
					})
				},
				"narrow.table": func(out *bytes.Buffer) view.Printer {
					return view.Table(
						out,
						view.Terminal{Width: 70},
						view.PlanRows(p),
						view.TableOptions{
							Columns: nativeTable(p, now),
							Run:     view.NewRunState(p),
							Reason:  view.PlainReason,
							Details: nativeRowDetails,
						},
					)
				},
				"alpha.table": func(out *bytes.Buffer) view.Printer {
					return view.Table(
						out,
						view.Terminal{Colour: true},
						view.PlanRows(p),
						view.TableOptions{
							Columns: progressTable(p, now),
							Run:     view.NewRunState(p),
							Reason:  liveReasons(""),
						},
					)
				},
			}
			got := map[string]string{}
			for name, form := range forms {
				var out bytes.Buffer
				printer := form(&out)
				for line := range strings.Lines(files["events"]) {
					printer.Event(parsed(t, p, line, now()))
				}
				var failure error
				if text := strings.TrimSpace(files["failure"]); text != "" {
					failure = errors.New(text)
				}
				if err := printer.Close(failure); err != nil {
					t.Fatal(err)
				}
				got[name] = strings.ReplaceAll(out.String(), "\x1b", "<ESC>")
			}
			return got
		},
	)
}

// parsed reads an event. An object that was seen is a minute old and has a condition.
func parsed(t *testing.T, p *plan.Plan, line string, now time.Time) event.Event {
	t.Helper()
	var e event.Event
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	e.Ref = p.Steps[e.Step].Ref
	if e.Status.State != "" {
		e.Facts = &ready.Facts{
			Created:    now.Add(-time.Minute),
			Conditions: []ready.Condition{{Type: "Available", Status: "False", Reason: "Few"}},
		}
	}
	return e
}

var a, b = object.Ref{
	Kind:      "ConfigMap",
	Namespace: "n",
	Name:      "a",
}, object.Ref{
	Group: "apps",
	Kind:  "Widget",
	Name:  "b",
}

// about is an error of the object a.
func about(err error) error { return errors.Join(&plan.ObjectError{Ref: a, Err: err}) }

// reads is the error of a value of the depends-on annotation.
func reads(value string) error {
	obj := &unstructured.Unstructured{}
	obj.SetAnnotations(map[string]string{packages.DependsOnKey: value})
	_, err := packages.DependsOn(obj)
	return about(err.(interface{ Unwrap() []error }).Unwrap()[0])
}

func said(text string) string {
	return `error: invalid object: "n_a__ConfigMap": invalid "config.kubernetes.io/depends-on" ` +
		`annotation: ` + text + "\n"
}

// TestLiveErrors formats errors as kpt live does.
func TestLiveErrors(t *testing.T) {
	one := &packages.OtherNamespaceError{Namespace: "a", Want: "b"}
	const words = `found namespace "a", but all resources must be in namespace "b"`
	unknown := &packages.UnknownKindsError{
		Kinds: []packages.UnknownKind{
			{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Widget"}},
		},
	}
	for _, test := range []struct {
		err  error
		want string
	}{
		{errors.New("own"), "error: own\n"},
		{one, "error: " + words + "\n"},
		{errors.Join(one), "error: " + words + "\n"},
		{&packages.SeveralInventoriesError{Format: "Kptfile"}, "Error: Multiple Kptfile objects " +
			"found, at most one is allowed.\n \n"},
		{
			errors.Join(one, errors.New("own\nand more")),
			"error: 2 errors:\n- " + words + "\n- own\n  and more\n",
		},
		{
			errors.Join(errors.Join(one, errors.Join(one, one)), errors.Join(one)),
			"error: 4 errors:" + strings.Repeat("\n- "+words, 4) + "\n",
		},
		{errors.Join(one, unknown), "error: 2 errors:\n- " + words + "\n- 1 resource types not found " +
			"in the cluster or as CRDs among the applied resources.\n" +
			"  Resource types:\n  apps/v1, Kind=Widget\n"},
		{unknown, "Error: 1 resource types not found in the cluster or as CRDs among the applied " +
			"resources.\n\n" +
			"Resource types:\napps/v1, Kind=Widget\n \n"},
		{about(&plan.ExternalError{From: a, To: b}), `error: invalid object: "n_a__ConfigMap": ` +
			`invalid "config.kubernetes.io/depends-on" ` +
			"annotation: external dependency: /namespaces/n/ConfigMap/a -> apps/Widget/b\n"},
		{about(&plan.ExternalError{From: a, To: b, TakesValue: true}), `error: invalid object: ` +
			`"n_a__ConfigMap": ` +
			`invalid "config.kubernetes.io/apply-time-mutation" annotation: ` + "external dependency: " +
			"/namespaces/n/ConfigMap/a -> apps/Widget/b\n"},
		{reads("x/y"), said(`failed to parse object reference (index: 0): expected 3 or 5 fields, ` +
			`found 2: "x/y"`)},
		{reads("/a/b/c/d"), said(`failed to parse object reference (index: 0): missing "namespaces" ` +
			`field: "/a/b/c/d"`)},
		{reads("/ConfigMap/c,/ConfigMap/c"), said("duplicate dependency: /namespaces/n/ConfigMap/a -> " +
			"/ConfigMap/c")},
	} {
		if reported := (*cli.TextError)(nil); !errors.As(liveError(test.err), &reported) ||
			reported.Text != test.want {
			t.Errorf("%v is printed as %q, want %q", test.err, reported.Text, test.want)
		}
	}
	if liveError(nil) != nil {
		t.Error("no error became one")
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 90 * time.Second: "90s", 91 * time.Second: "1m", 90 * time.Minute: "90m",
		91 * time.Minute: "1h", 50 * time.Hour: "50h",
	} {
		if got := age(d); got != want {
			t.Errorf("age(%s) = %s, want %s", d, got, want)
		}
	}
}
