// Package metrics counts what the controller does, for Prometheus.
package metrics

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
)

// Counts are the metrics of the controller.
type Counts struct {
	reader   client.Reader
	runs     *prometheus.HistogramVec
	queue    *prometheus.HistogramVec
	requests *prometheus.CounterVec
	written  *prometheus.CounterVec
	drifted  *prometheus.CounterVec
	held     prometheus.Counter
}

// buckets are times from a hundredth of a second to ten minutes.
var buckets = []float64{.01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 600}

// The metrics that are computed from the Sets when they are asked for.
var (
	ready = prometheus.NewDesc("muster_set_ready",
		"1 if what the Set says is applied and ready, else 0.", []string{"namespace", "name"}, nil)
	objects = prometheus.NewDesc("muster_set_objects", "Objects of the Set by state.",
		[]string{"namespace", "name", "state"}, nil)
)

// New returns the metrics, and registers them. The reader has the Sets.
func New(reader client.Reader) *Counts {
	c := &Counts{
		reader: reader,
		runs: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "muster_run_seconds", Help: "Time of a run, with waiting.", Buckets: buckets,
		}, []string{"task", "outcome"}),
		queue: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "muster_queue_seconds", Help: "Time that a run waits for its turn.", Buckets: buckets,
		}, []string{"namespace"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_api_requests_total", Help: "Requests on behalf of Sets.",
		}, []string{"verb", "code"}),
		written: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_objects_written_total", Help: "Objects that were created, updated or deleted.",
		}, []string{"task"}),
		drifted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_drift_total", Help: "Objects that others changed, by what was done about them.",
		}, []string{"action"}),
		held: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_prune_held_total", Help: "Runs that would have pruned more than spec.prune.max.",
		}),
	}
	metrics.Registry.MustRegister(c.runs, c.queue, c.requests, c.written, c.drifted, c.held, c)
	return c
}

// Request counts a request.
func (c *Counts) Request(method string, code int) {
	c.requests.WithLabelValues(method, strconv.Itoa(code)).Inc()
}

// Waited counts how long a run waited for its turn.
func (c *Counts) Waited(namespace string, d time.Duration) {
	c.queue.WithLabelValues(namespace).Observe(d.Seconds())
}

// Ran counts a run.
func (c *Counts) Ran(task, outcome string, took time.Duration, written int) {
	c.runs.WithLabelValues(task, outcome).Observe(took.Seconds())
	c.written.WithLabelValues(task).Add(float64(written))
}

// Drifted counts objects that others changed; the action is corrected or reported.
func (c *Counts) Drifted(action string, n int) { c.drifted.WithLabelValues(action).Add(float64(n)) }

// Held counts a run that would have pruned too much.
func (c *Counts) Held() { c.held.Inc() }

// Describe implements prometheus.Collector.
func (c *Counts) Describe(descs chan<- *prometheus.Desc) {
	descs <- ready
	descs <- objects
}

// Collect implements prometheus.Collector.
func (c *Counts) Collect(values chan<- prometheus.Metric) {
	list := &v1alpha1.SetList{}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if c.reader.List(ctx, list) != nil {
		return // the cache is not there yet
	}
	for i := range list.Items {
		s := &list.Items[i]
		is := 0.0
		if meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReady) {
			is = 1
		}
		values <- prometheus.MustNewConstMetric(ready, prometheus.GaugeValue, is, s.Namespace, s.Name)
		for state, n := range map[string]int32{
			"total": s.Status.Objects.Total, "ready": s.Status.Objects.Ready,
			"failed": s.Status.Objects.Failed, "drifted": s.Status.Objects.Drifted,
		} {
			values <- prometheus.MustNewConstMetric(objects, prometheus.GaugeValue, float64(n), s.Namespace,
				s.Name, state)
		}
	}
}
