package sets

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/show/view"
)

// secretWords are the parts of the values of the Secrets of TestSecretsHidden.
var secretWords = []string{"hunter1", "hunter2", "hunter3", "hunter4", "hunter5", "hunter6"}

// secretVersions are two versions of a Secret, and one of others.
var secretVersions = [3]string{
	"metadata: {name: m}\ndata: {a: " + b64("hunter1") + "}\nstringData: {b: 'hunter2 \"<q&\\x'}",
	"metadata: {name: m}\ndata: {a: " + b64("hunter3") + "}\nstringData: {b: 'hunter4 \"<q&\\x'}",
	"metadata: {name: m, namespace: demo}\ndata: {a: " + b64("hunter5") + ", c: " +
		b64("hunter6") + "}",
}

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// TestSecretsHidden: what is printed of an app with a Secret, and saved, has none of its values.
func TestSecretsHidden(t *testing.T) {
	for _, kind := range []string{"Secret", "ConfigMap"} {
		for _, serverSide := range []bool{false, true} {
			secretsHidden(t, kind, serverSide)
		}
	}
}

// maskRules let data of ConfigMaps be masked.
const maskRules = `apiVersion: kapp.k14s.io/v1alpha1
kind: Config
diffMaskRules:
- path: [data]
  resourceMatchers: [{apiVersionKindMatcher: {apiVersion: v1, kind: ConfigMap}}]
`

// secretsHidden runs the test for a kind of objects.
func secretsHidden(t *testing.T, kind string, serverSide bool) {
	for _, refuses := range []string{"", "all", "second"} {
		t.Run(fmt.Sprintf("%s %t %s", kind, serverSide, refuses), func(t *testing.T) {
			w := newSetWorld(t, KindApp)
			of := func(version int) string {
				text := manifestOf(kind, secretVersions[version], "")
				if kind == "Secret" {
					return text
				}
				w.write("config.yaml", maskRules)
				return strings.Replace(strings.ReplaceAll(text, "}\nstringData: {", ", "), "&", "", 1)
			}
			w.server.Put(w.parse(of(2)))
			var said bytes.Buffer
			for round := range 4 {
				w.write("m.yaml", of(round%2))
				writes := 0
				w.server.Refuses = func(sent cluster.Write) error {
					if sent.Object.GetKind() != kind || sent.Object.GetName() != "m" {
						return nil
					}
					if !sent.DryRun {
						writes++
					}
					if refuses == "all" && round > 1 || refuses == "second" && writes > 1 {
						return refusedPatch(sent)
					}
					return nil
				}
				if refuses == "second" { // the server changes what is stored
					w.server.Stores = func(obj *unstructured.Unstructured) {
						if obj.GetKind() == kind && obj.GetName() == "m" {
							obj.SetLabels(withKey(obj.GetLabels(), fmt.Sprint("round", round)))
						}
					}
				}
				w.observe(&said, serverSide)
			}
			said.WriteString(strings.Join(w.notices, "\n"))
			if said.Len() < 1000 {
				t.Fatalf("it said only %s", said.String())
			}
			for _, word := range secretWords {
				for _, text := range []string{word, strings.TrimRight(b64(word), "=")[:8]} {
					if at := strings.Index(said.String(), text); at >= 0 {
						t.Errorf("%s is printed: …%s…", text,
							said.String()[max(0, at-200):min(said.Len(), at+100)])
					}
				}
			}
		})
	}
}

// refusedPatch returns the error of a server that quotes a write.
func refusedPatch(w cluster.Write) error {
	text, _ := json.Marshal(w.Object)
	all := string(text) + fmt.Sprintf("%s %+v", w.Patch, w)
	return apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "m",
		field.ErrorList{field.Invalid(field.NewPath("patch"), all, "strange "+all)})
}

// observe plans an apply, runs it dry and in earnest, and writes all that is said of it.
func (w *setWorld) observe(said *bytes.Buffer, serverSide bool) {
	w.t.Helper()
	o := options()
	o.ServerSide, o.Conflicts, o.InventoryPolicy = serverSide, plan.TakeAll, "adopt"
	op, err := w.open().PrepareApply(w.t.Context(), w.server,
		operation.ApplyOptions{Options: o})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := op.MakePlan(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	saved, err := op.Save(w.t.Context(), "")
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := json.Marshal(saved)
	if err != nil {
		w.t.Fatal(err)
	}
	said.Write(text)
	print := view.RunOptions{
		RunForm: view.RunForm{
			Detailed: true, ErrorText: error.Error,
			Reason: func(_ *view.RunState, m view.PhaseEvent) string {
				return fmt.Sprint(m.Event.Reason, m.Event.Err)
			},
		},
		Output: view.OutputJSON,
		Out:    said, Now: func() time.Time { return w.now },
	}
	mode := engine.DryRunClient
	if serverSide {
		mode = engine.DryRunServer
	}
	for _, mode := range []engine.DryRun{mode, engine.DryRunNone} {
		printer := print.Printer(op.Plan)
		outlooks, err := view.Outlooks(op.Plan, func(text string) { said.WriteString(text) },
			func(sink event.Sink) error {
				_, err := op.Run(w.t.Context(), engine.Options{DryRun: mode, Concurrency: 1},
					func(e event.Event) {
						fmt.Fprintln(said, e.Kind, e.Op, e.Outcome, e.Reason, e.Err)
						printer.Event(e)
						sink(e)
					})
				fmt.Fprintln(said, err)
				_ = printer.Close(err)
				return nil
			})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, o := range outlooks {
			before, after := o.BeforeAfter()
			shown, comparable := o.Comparable()
			fmt.Fprintln(said, o.Step.Diff, o.Reason, o.Err, before, after, shown, comparable)
		}
	}
}
