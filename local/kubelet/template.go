package kubelet

import (
	"encoding/json"
	"fmt"
	"text/template"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Functions returns the functions for templates of stages:
//
//	Status STEP POD [IP]   the patch for the next step of a pod; IP is its address if it has none
//	Event NAME POD         an event about the pod
//
// now is the clock.
func Functions(now func() time.Time) template.FuncMap {
	return template.FuncMap{
		"Status": func(name string, data any, ip ...string) (string, error) {
			return patch(name, data, now(), ip...)
		},
		"Event": func(name string, data any) (string, error) {
			pod, err := decode(data)
			if err != nil {
				return "", err
			}
			event, err := Event(name, pod, now())
			if err != nil {
				return "", err
			}
			return encode(event)
		},
	}
}

// patch returns a merge patch. It holds only for the version of the pod that the step started
// from: a pod that has changed in between is judged again.
func patch(name string, data any, now time.Time, ip ...string) (string, error) {
	take, ok := Steps()[name]
	if !ok {
		return "", fmt.Errorf("no step %q", name)
	}
	pod, err := decode(data)
	if err != nil {
		return "", err
	}
	if pod.Status.HostIP == "" {
		pod.Status.HostIP, pod.Status.HostIPs = "127.0.0.1", []corev1.HostIP{{IP: "127.0.0.1"}}
	}
	if pod.Status.PodIP == "" && len(ip) > 0 {
		pod.Status.PodIP, pod.Status.PodIPs = ip[0], []corev1.PodIP{{IP: ip[0]}}
	}
	return encode(map[string]any{
		"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},
		"status":   take(pod, now),
	})
}

func decode(data any) (*corev1.Pod, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("read pod: %w", err)
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(text, pod); err != nil {
		return nil, fmt.Errorf("read pod: %w", err)
	}
	return pod, nil
}

func encode(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}
