package kubelet

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
)

// Server answers what the API server asks a kubelet: the logs of containers, as the annotations of
// their pods give them.
type Server struct {
	Pods kubernetes.Interface
	// Client is the common name of the client certificate that may read logs. Others get health only.
	Client string
	Health func() error
}

// Handler serves GET /healthz and GET /containerLogs/{namespace}/{pod}/{container}. Everything else
// is not simulated.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.Health(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "ok")
	})
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", s.logs)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "the simulated kubelet does not serve "+r.URL.Path, http.StatusNotImplemented)
	})
	return mux
}

func (s *Server) logs(w http.ResponseWriter, r *http.Request) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 ||
		r.TLS.PeerCertificates[0].Subject.CommonName != s.Client {
		http.Error(w, "only the API server may read logs", http.StatusForbidden)
		return
	}
	query, err := parseQuery(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	pods := s.Pods.CoreV1().Pods(r.PathValue("namespace"))
	pod, err := pods.Get(r.Context(), r.PathValue("pod"), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		http.Error(w, fmt.Sprintf("pod %q does not exist", r.PathValue("pod")), http.StatusNotFound)
		return
	} else if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	text, run, err := logOf(pod, r.PathValue("container"), query.previous)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	if _, err := io.WriteString(w, query.apply(text, run.started, time.Now())); err != nil ||
		!query.follow ||
		run.ended {
		return
	}
	if err := http.NewResponseController(w).Flush(); err == nil {
		// The log is whole: what follows is the end of the container. Nobody is left to read an error.
		_ = s.ended(r.Context(), pod, r.PathValue("container"))
	}
}

// containerRun is one run of a container.
type containerRun struct {
	started time.Time
	ended   bool
}

// logOf finds the log of a container's run. The errors are those of a kubelet.
func logOf(pod *corev1.Pod, container string, previous bool) (string, containerRun, error) {
	status := statusOf(pod, container)
	if status == nil {
		return "", containerRun{}, fmt.Errorf(
			"container %q in pod %q is not available",
			container,
			pod.Name,
		)
	}
	current, last := status.State, status.LastTerminationState.Terminated
	switch {
	case previous && last == nil:
		return "", containerRun{}, fmt.Errorf(
			"previous terminated container %q in pod %q not found",
			container,
			pod.Name,
		)
	case previous:
		return note(pod, container, PreviousLogs, Logs), containerRun{last.StartedAt.Time, true}, nil
	case current.Running != nil:
		return note(pod, container, Logs), containerRun{current.Running.StartedAt.Time, false}, nil
	case current.Terminated != nil:
		return note(pod, container, Logs), containerRun{current.Terminated.StartedAt.Time, true}, nil
	case last != nil:
		return note(pod, container, Logs), containerRun{last.StartedAt.Time, true}, nil
	}
	return "", containerRun{}, fmt.Errorf(
		"container %q in pod %q is waiting to start: %s",
		container,
		pod.Name,
		whyWaiting(status),
	)
}

func whyWaiting(status *corev1.ContainerStatus) string {
	if status.State.Waiting == nil {
		return "no state"
	}
	switch reason := status.State.Waiting.Reason; reason {
	case errImagePull:
		return "image can't be pulled"
	case imagePullBackOff:
		return "trying and failing to pull image"
	default:
		return reason
	}
}

func statusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{
		pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses,
	} {
		for i := range list {
			if list[i].Name == container {
				return &list[i]
			}
		}
	}
	return nil
}

// note reads a log from the first of the annotations that is there; for each key that of the
// container comes before that of the pod. Every line of a log is a whole one.
func note(pod *corev1.Pod, container string, keys ...string) string {
	for _, key := range keys {
		for _, name := range []string{key + "." + container, key} {
			text, ok := pod.Annotations[name]
			if !ok {
				continue
			}
			if text != "" && !strings.HasSuffix(text, "\n") {
				text += "\n"
			}
			return text
		}
	}
	return ""
}

// ended waits until a container has ended or its pod is gone.
func (s *Server) ended(ctx context.Context, pod *corev1.Pod, container string) error {
	watch, err := s.Pods.CoreV1().Pods(pod.Namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector("metadata.name", pod.Name).String(),
		ResourceVersion: pod.ResourceVersion,
	})
	if err != nil {
		return err
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		now, ok := event.Object.(*corev1.Pod)
		if !ok {
			return apierrors.FromObject(event.Object)
		}
		status := statusOf(now, container)
		if event.Type == "DELETED" || now.UID != pod.UID || status == nil || status.State.Running == nil {
			return nil
		}
	}
	return ctx.Err()
}
