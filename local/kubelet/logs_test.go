package kubelet

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestQuery(t *testing.T) {
	const text = "one\ntwo\nthree\n"
	tests := []struct{ query, want string }{
		{"", text},
		{"tailLines=2", "two\nthree\n"},
		{"tailLines=0", ""},
		{"tailLines=9", text},
		{"limitBytes=5", "one\nt"},
		{"limitBytes=99", text},
		{"tailLines=1&timestamps=true", "2030-01-01T12:00:00Z three\n"},
		{"sinceSeconds=30", ""},
		{"sinceSeconds=90", text},
		{"sinceTime=2030-01-01T11:59:00Z", text},
		{"sinceTime=2030-01-01T12:00:30Z", ""},
		{"tailLines=x", `error: parameter tailLines: "x" is not a number of at least 0`},
		{"tailLines=-1", `error: parameter tailLines: "-1" is not a number of at least 0`},
	}
	for _, test := range tests {
		t.Run(test.query, func(t *testing.T) {
			values, err := url.ParseQuery(test.query)
			if err != nil {
				t.Fatal(err)
			}
			q, err := parseQuery(values)
			got := q.apply(text, noon, noon.Add(time.Minute))
			if err != nil {
				got = "error: " + err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestServer(t *testing.T) {
	running := take(
		t,
		newPod(corev1.RestartPolicyAlways, "logs", "a\nb", "logs.side", "c"),
		"created",
		"started",
	)
	crashed := take(
		t,
		newPod(
			corev1.RestartPolicyAlways,
			"behaviour",
			"crash-loop",
			"logs",
			"now",
			"previous-logs",
			"then",
		),
		"created",
		"started",
		"exited",
		"backedOff",
	)
	crashed.Name = "crashed"
	waiting := take(t, newPod(corev1.RestartPolicyAlways), "created")
	waiting.Name = "waiting"
	server := &Server{
		Pods:   fake.NewSimpleClientset(running, crashed, waiting),
		Client: "api",
		Health: func() error { return nil },
	}
	tests := []struct {
		path, client string
		code         int
		want         string
	}{
		{"/containerLogs/ns/pod/main", "api", 200, "a\nb\n"},
		{"/containerLogs/ns/pod/main?tailLines=1", "api", 200, "b\n"},
		{"/containerLogs/ns/pod/main", "other", 403, "only the API server may read logs\n"},
		{"/containerLogs/ns/pod/main", "", 403, "only the API server may read logs\n"},
		{
			"/containerLogs/ns/pod/none",
			"api",
			400,
			"container \"none\" in pod \"pod\" is not available\n",
		},
		{"/containerLogs/ns/none/main", "api", 404, "pod \"none\" does not exist\n"},
		{
			"/containerLogs/ns/pod/main?previous=true",
			"api",
			400,
			"previous terminated container \"main\" in pod \"pod\" not found\n",
		},
		{"/containerLogs/ns/crashed/main", "api", 200, "now\n"},
		{"/containerLogs/ns/crashed/main?previous=true", "api", 200, "then\n"},
		{
			"/containerLogs/ns/waiting/main",
			"api",
			400,
			"container \"main\" in pod \"waiting\" is waiting to start: ContainerCreating\n",
		},
		{"/containerLogs/ns/pod/main?follow=maybe", "api", 422, ""},
		{"/exec/ns/pod/main", "api", 501, "the simulated kubelet does not serve /exec/ns/pod/main\n"},
		{"/healthz", "", 200, "ok"},
	}
	for _, test := range tests {
		t.Run(test.path, func(t *testing.T) {
			request := httptest.NewRequest(http.MethodGet, test.path, nil)
			if test.client != "" {
				cert := &x509.Certificate{Subject: pkix.Name{CommonName: test.client}}
				request.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}
			}
			answer := httptest.NewRecorder()
			server.Handler().ServeHTTP(answer, request)
			if answer.Code != test.code || test.want != "" && answer.Body.String() != test.want {
				t.Errorf("got %d %q", answer.Code, answer.Body.String())
			}
		})
	}
	server.Health = func() error { return errors.New("not yet") }
	answer := httptest.NewRecorder()
	server.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/healthz", nil))
	if answer.Code != http.StatusServiceUnavailable {
		t.Errorf("health: got %d", answer.Code)
	}
}
