package run

import (
	"context"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/crash"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/feature/podlogs"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/show/live"
)

// logSource reads logs for the screen of a run.
type logSource struct {
	cluster cluster.Reader // nil until the set is connected
	now     func() time.Time
	begin   func() (context.Context, context.CancelFunc) // a context for reading one log
}

// screenLogLines is how many lines of each log the screen shows first.
const screenLogLines = 100

// reader returns the function that reads the logs of the pods of a step.
func (s *logSource) reader(p *plan.Plan) func(int, *live.Log) func() {
	if s.cluster == nil {
		return nil
	}
	mask, lines := p.SecretTexts(), screenLogLines
	return func(i int, to *live.Log) func() {
		step := &p.Steps[i]
		if !mayHavePods(step.Ref) {
			to.Add(live.LogLine{Text: step.Ref.Short() + " has no pods", Note: true})
			return func() {}
		}
		printer := screenLog{to, mask}
		request := sets.LogsRequest{
			Objects: []object.Ref{step.Ref}, Labels: podLabels(step), Now: s.now, Printer: printer,
			Pod: func(name string) bool {
				return step.Ref.GroupKind() != podlogs.PodKind || name == step.Ref.Name
			},
			Container: func(string) bool { return true },
			Log:       cluster.LogOptions{Follow: true, Lines: &lines},
			Failed: func(err error) {
				to.Add(live.LogLine{Text: "error: " + err.Error(), Note: true})
			},
		}
		ctx, stop := s.begin()
		go func() { // ends with the context
			defer crash.Catch(ctx)
			sets.Logs(ctx, s.cluster, request)
		}()
		return stop
	}
}

// mayHavePods reports whether objects of a kind are pods, or have controllers that create pods.
func mayHavePods(ref object.Ref) bool {
	if ref.Group == "" {
		return ref.Kind == "Pod" || ref.Kind == "ReplicationController"
	}
	return ref.Group != "policy" && ref.Group != "autoscaling" &&
		!strings.HasSuffix(ref.Group, ".k8s.io")
}

// podLabels returns a selector of the pods of an object, so that few others are read; empty for
// all. Their owners say whose pods they are.
func podLabels(step *plan.Step) string {
	obj := step.Want
	if obj == nil {
		obj = step.Have
	}
	jobs := schema.GroupKind{Group: "batch", Kind: "Job"}
	switch {
	case step.Ref.GroupKind() == jobs:
		return labels.Set{"job-name": step.Ref.Name}.String()
	case obj == nil:
		return ""
	case step.Ref.GroupKind() == podlogs.PodKind:
		return labels.Set(obj.GetLabels()).String()
	case step.Ref.Group != "apps":
		return ""
	}
	fields, _, _ := unstructured.NestedMap(obj.Object, "spec", "selector")
	selector := metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &selector); err != nil {
		return ""
	}
	return metav1.FormatLabelSelector(&selector)
}

// screenLog adds lines of logs to the screen, without values of the Secrets of the set.
type screenLog struct {
	to   *live.Log
	mask *diff.Masker
}

// Line adds a line of a log.
func (l screenLog) Line(c podlogs.Container, text string) {
	l.to.Add(live.LogLine{Container: c.Pod.Name + "/" + c.Name, Text: l.mask.Replace(text)})
}

// Event adds what happens with a log, unless lines show it.
func (l screenLog) Event(c podlogs.Container, e podlogs.Event, err error) {
	text := ""
	switch {
	case err != nil:
		text = "error: " + err.Error()
	case e == podlogs.Waiting:
		text = "waiting to start"
	case e == podlogs.Stopped:
		text = "the container has stopped"
	default:
		return
	}
	l.to.Add(live.LogLine{Container: c.Pod.Name + "/" + c.Name, Text: text, Note: true})
}
