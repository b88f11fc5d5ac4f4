package cmd

import (
	"bytes"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/engine/enginetest"
	"github.com/muster-deploy/muster/internal/golden"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/packages/inventory"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/view"
)

// TestPlan shows a plan in every form. The sections are desired.yaml, live.yaml and recorded.yaml
// (objects of which only the identity counts), server-side if the server merges, and conflict: a
// line of Kind/name and a field over which the server finds a conflict. Escape sequences are made
// visible as <ESC>.
func TestPlan(t *testing.T) {
	golden.Run(
		t,
		"testdata/plan_*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			_, serverSide := files["server-side"]
			desired := manifestsOf(t, "desired.yaml", files["desired.yaml"])
			eng := fakeEngine(t, files)
			p := planOf(t, eng, desired, serverSide)
			mode := engine.DryRunClient
			if serverSide {
				mode = engine.DryRunServer
			}
			outlooks, err := packages.DryRun(t.Context(), eng, p, mode)
			if err != nil {
				t.Fatal(err)
			}
			forms := map[string]func(*bytes.Buffer) error{
				"text": func(out *bytes.Buffer) error { return planText(out, view.Terminal{}, outlooks) },
				"coloured": func(out *bytes.Buffer) error {
					return planText(out, view.Terminal{Colour: true}, outlooks)
				},
				"json": func(out *bytes.Buffer) error { return planJSON(out, outlooks) },
				"krm":  func(out *bytes.Buffer) error { return planKRM(out, outlooks) },
				"live": func(out *bytes.Buffer) error { return livePlanText(out, true, outlooks, desired) },
			}
			got := map[string]string{}
			for name, write := range forms {
				var out bytes.Buffer
				if err := write(&out); err != nil {
					t.Fatal(err)
				}
				got[name] = strings.ReplaceAll(out.String(), "\x1b", "<ESC>")
				if strings.Contains(out.String(), "c2VjcmV0") || strings.Contains(out.String(), "b3RoZXI=") {
					t.Errorf("the form %s shows a secret", name)
				}
			}
			return got
		},
	)
}

func manifestsOf(t *testing.T, name, text string) []manifest.Object {
	t.Helper()
	objects, err := manifest.Read(t.Context(), strings.NewReader(text), name, manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// fakeEngine is an engine whose cluster and record are as the sections of an archive say.
func fakeEngine(t *testing.T, files map[string]string) *engine.Engine {
	t.Helper()
	c := &enginetest.Cluster{Fails: map[object.Ref]error{}}
	for _, obj := range manifestsOf(t, "live.yaml", files["live.yaml"]) {
		c.Put(obj.Unstructured)
	}
	store := &enginetest.Store{Cluster: c}
	for _, obj := range manifestsOf(t, "recorded.yaml", files["recorded.yaml"]) {
		store.State.Members = append(
			store.State.Members, record.Member{Ref: object.RefOf(obj.Unstructured)},
		)
	}
	for line := range strings.Lines(files["conflict"]) {
		words := strings.Fields(line)
		kind, name, _ := strings.Cut(words[0], "/")
		c.Fails[object.Ref{Kind: kind, Namespace: "default", Name: name}] = apierrors.NewApplyConflict(
			[]metav1.StatusCause{{
				Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "someone"`, Field: words[1],
			}},
			`Apply failed with 1 conflict: conflict with "someone": `+words[1],
		)
	}
	return &engine.Engine{Cluster: c, Records: store}
}

func planOf(
	t *testing.T, eng *engine.Engine, objects []manifest.Object, serverSide bool,
) *plan.Plan {
	t.Helper()
	policy, err := packages.Policy(
		&inventory.Inventory{ID: "me", Ref: object.Ref{Namespace: "default"}}, plan.AdoptNone,
	)
	if err != nil {
		t.Fatal(err)
	}
	policy.ServerSide, policy.Manager = serverSide, packages.DefaultManager
	var desired []plan.Desired
	for _, obj := range objects {
		desired = append(desired, plan.Desired{Object: obj.Unstructured, Source: obj.Origin.String()})
	}
	p, err := eng.Plan(t.Context(), engine.Request{Desired: desired, Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The error of an output that does not exist is that of kpt.
func TestLivePlanOutput(t *testing.T) {
	cmd := newLivePlan(&cli.Env{}, nil, variant{})
	cmd.SetArgs([]string{"--output", "xml"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.Execute(); err == nil ||
		err.Error() != `unknown output format "xml". Must be either 'text' or 'krm'` {
		t.Errorf("error = %v", err)
	}
}
