package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
)

// ready applies Deployments with a pod each, waits until all are ready, and destroys them. Only
// tools that report each ready object take part: the latency is the time from the moment
// at which a watch of our own shows that a Deployment is ready to the line that says so.
func ready(ctx context.Context, s *site) (results []*Result, err error) {
	g, err := s.raise(ctx, "plane")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.down(ctx)) }()
	return s.turns(func(t tool, round int, m mode, set *resultSet) error {
		if t.ready == nil {
			return nil
		}
		return s.readyTurn(ctx, g, t, round, m, set)
	})
}

func (s *site) readyTurn(
	ctx context.Context,
	g *ground,
	t tool,
	round int,
	m mode,
	set *resultSet,
) error {
	home := fmt.Sprintf("ready-%s-%d", t.name, round)
	p, err := newPack(filepath.Join(s.temp, home), home, []string{home})
	if err != nil {
		return err
	}
	err = errors.Join(g.makeNamespaces(ctx, p.namespaces), p.write(pods, s.objects, 1))
	if err != nil {
		return err
	}
	watched, err := observe(ctx, g.client, home)
	if err != nil {
		return err
	}
	reported := map[string]time.Time{}
	made := set.of(s, t, "", created)
	err = s.do(
		ctx,
		g,
		made,
		invocation{tool: t, args: p.fill(t.create), mode: m, line: func(line string, at time.Time) {
			if found := t.ready.FindStringSubmatch(line); found != nil && reported[found[1]].IsZero() {
				reported[found[1]] = at
			}
		}},
	)
	seen, lost := watched.end()
	if err := errors.Join(err, lost); err != nil {
		return err
	}
	if m == timing {
		for name, at := range reported {
			if since, ok := seen[name]; ok {
				made.Latency = append(made.Latency, float64(at.Sub(since).Microseconds())/1000)
			}
		}
	}
	if made.Failed == "" {
		destroy := invocation{tool: t, args: p.fill(t.destroy), mode: m}
		if err := s.do(ctx, g, set.of(s, t, "", deleted), destroy); err != nil {
			return err
		}
	}
	return s.tidy(ctx, g, p)
}

// observer notes when Deployments of a namespace become ready.
type observer struct {
	deployments appsv1client.DeploymentInterface
	seen        map[string]time.Time // by name
	err         error
	stop        context.CancelFunc
	ended       chan struct{}
}

// observe begins to watch a namespace. end ends it.
func observe(
	ctx context.Context,
	client kubernetes.Interface,
	namespace string,
) (*observer, error) {
	o := &observer{
		deployments: client.AppsV1().Deployments(namespace),
		seen:        map[string]time.Time{},
		ended:       make(chan struct{}),
	}
	none, err := o.deployments.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	ctx, o.stop = context.WithCancel(ctx)
	// It ends with the context, which end waits for.
	go func() {
		defer close(o.ended)
		version := none.ResourceVersion
		for ctx.Err() == nil && o.err == nil {
			version, o.err = o.follow(ctx, version)
		}
	}()
	return o, nil
}

// end ends the watch and returns what it saw.
func (o *observer) end() (map[string]time.Time, error) {
	o.stop()
	<-o.ended
	return o.seen, o.err
}

// follow watches until the watch ends, and returns the version for the next watch: the API server
// ends watches that lag behind, which happens when much is written.
func (o *observer) follow(ctx context.Context, version string) (string, error) {
	events, err := o.deployments.Watch(ctx, metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		return version, ignoreEnd(ctx, err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		now := time.Now()
		d, ok := event.Object.(*appsv1.Deployment)
		if !ok {
			return version, ignoreEnd(ctx, apierrors.FromObject(event.Object))
		}
		version = d.ResourceVersion
		if o.seen[d.Name].IsZero() && isReady(d) {
			o.seen[d.Name] = now
		}
	}
	return version, nil
}

// ignoreEnd drops an error that only says that the context has ended.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("watch: %w", err)
}

// isReady reports whether a Deployment is ready by the rules of internal/ready, as far as these
// Deployments need them: every counter has reached its wanted number, and the controller has
// declared the rollout complete.
func isReady(d *appsv1.Deployment) bool {
	want, st := *d.Spec.Replicas, d.Status
	if st.ObservedGeneration < d.Generation || st.Replicas != want || st.UpdatedReplicas != want ||
		st.ReadyReplicas != want ||
		st.AvailableReplicas != want {
		return false
	}
	available, complete := false, false
	for _, c := range st.Conditions {
		holds := c.Status == corev1.ConditionTrue
		available = available || c.Type == appsv1.DeploymentAvailable && holds
		complete = complete ||
			c.Type == appsv1.DeploymentProgressing && holds && c.Reason == "NewReplicaSetAvailable"
	}
	return available && complete
}
