package kpt

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/show/view"
	"github.com/muster-deploy/muster/internal/testing/golden"
	"github.com/muster-deploy/muster/internal/testing/packagestest"
)

// TestLive prints runs in the forms of kpt live. An archive has the steps of a plan
// (packagestest.Steps), the events as JSON lines, a section command (apply unless it is given) and
// a section failure with the error that ends the run.
func TestLive(t *testing.T) {
	now := func() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC) }
	golden.Run(
		t,
		"testdata/live_*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			p := packagestest.Steps(t, files["steps"])
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
				"table": func(out *bytes.Buffer) view.Printer {
					return view.Table(out, view.Terminal{}, view.PlanRows(p), view.TableOptions{
						Columns: liveTable(p, now),
						Run:     view.NewRunState(p),
						Reason:  liveReasons(""),
						Footer:  "\n",
					})
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
					printer.Event(packagestest.Event(t, p, line, now()))
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
	obj.SetAnnotations(map[string]string{policy.DependsOnKey: value})
	_, err := policy.DependsOn(obj)
	return about(err.(interface{ Unwrap() []error }).Unwrap()[0])
}

// denied is the error for an object that may not be read, with the answer to a list.
func denied(list error) error {
	widgets := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "widgets"}
	return &cluster.DeniedError{Ref: b, Cause: errors.New("own"), ListCause: list, Resource: widgets}
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
		{&packages.SeveralInventoriesError{Format: "Kptfile"},
			"error: multiple Kptfile inventories found in package\n"},
		{&packages.SeveralInventoriesError{Format: "ResourceGroup"}, "\nError: Multiple " +
			"ResourceGroup objects found. Please make sure at most one ResourceGroup object exists " +
			"within the package.\n \n"},
		{&packages.InitializedError{Object: "Kptfile", Err: errors.New("own")},
			"\nError: Inventory information has already been added to the package Kptfile object. " +
				"Please consider migrating to a standalone resourcegroup object using the 'kpt live " +
				"migrate' command.\n \n"},
		{&packages.InstallError{Err: errors.New("own")},
			"Error: Unable to install the ResourceGroup CRD.\nDetails: own \n"},
		{listErrors(fmt.Errorf("read: %w",
			errors.Join(denied(errors.New(`widgets "b" is forbidden: no`))))),
			"error: polling for status failed: failed to list apps/v1, Kind=Widget: widgets is " +
				"forbidden: no\n"},
		{listErrors(fmt.Errorf("read: %w", errors.Join(denied(errors.New("no")), denied(nil)))),
			"error: read: read widget.apps/b: own; it needs the right to get or list \n" +
				"read widget.apps/b: own; it needs the right to get or list \n"},
		{packages.ErrNoDefinition, "\nError: The ResourceGroup CRD was not found in the cluster. " +
			"Please install it either by using the '--install-resource-group' flag or the 'kpt live " +
			"install-resource-group' command.\n \n"},
		{&manifest.MetadataError{Place: "a.yaml: line 5: ", Problem: "own"}, "error: own\n"},
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
