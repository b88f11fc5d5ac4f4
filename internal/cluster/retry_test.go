package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/muster-deploy/muster/internal/object"
)

// Errors as the client library returns them.
var (
	pods    = schema.GroupResource{Resource: "pods"}
	refused = &url.Error{
		Op:  "Post",
		URL: "https://127.0.0.1:1/",
		Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
	}
	broken = &url.Error{
		Op:  "Post",
		URL: "https://127.0.0.1:1/",
		Err: &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)},
	}
	noPath = apierrors.NewGenericServerResponse(
		404,
		"post",
		schema.GroupResource{Resource: "crontabs"},
		"",
		"404 page not found",
		0,
		true,
	)
	noObject = apierrors.NewNotFound(pods, "web")
	invalid  = apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "web", nil)
	timeout  = apierrors.NewServerTimeout(pods, "post", 1)
	tooMany  = apierrors.NewTooManyRequests("slow down", 1)
	internal = apierrors.NewInternalError(errors.New("webhook"))
)

func TestTransient(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{nil, false}, {refused, true}, {broken, true}, {noPath, true}, {noObject, false},
		{invalid, false},
		{timeout, true}, {tooMany, true}, {internal, false}, {context.Canceled, false},
		{fmt.Errorf("wrapped: %w", refused), true},
	} {
		if got := transient(tc.err); got != tc.want {
			t.Errorf("transient(%v) = %t, want %t", tc.err, got, tc.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{invalid, true}, {noObject, true}, {apierrors.NewForbidden(pods, "web", nil), true},
		{&UnknownKindError{}, true},
		{fmt.Errorf("wrapped: %w", invalid), true},
		{broken, false}, {&ambiguousError{cause: invalid}, false},
		{apierrors.NewAlreadyExists(pods, "web"), false}, {timeout, false}, {tooMany, false},
		{internal, false}, {errors.New("anything"), false},
		{apierrors.NewConflict(pods, "web", errors.New("changed")), false},
		{&apierrors.StatusError{ErrStatus: metav1.Status{
			Code: http.StatusConflict, Reason: metav1.StatusReasonConflict,
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{
				{Type: metav1.CauseTypeFieldManagerConflict}}},
		}}, true},
	} {
		if got := Refused(tc.err); got != tc.want {
			t.Errorf("Refused(%v) = %t, want %t", tc.err, got, tc.want)
		}
	}
}

func TestRetry(t *testing.T) {
	for _, tc := range []struct {
		name    string
		answers []error // the last one is repeated
		want    error
		sent    int
	}{
		{"a good answer is final", []error{nil}, nil, 1},
		{"a bad answer is final", []error{invalid}, invalid, 1},
		{"a lost connection is not", []error{broken, refused, nil}, nil, 3},
		{"nor a kind that is not served yet", []error{noPath, noPath, noPath, nil}, nil, 4},
		{"but patience ends, with the last answer", []error{refused}, refused, maxAttempts},
		{"an internal error may end", []error{internal, internal, nil}, nil, 3},
		{"or never does", []error{internal}, internal, maxInternal + 1},
		{"the server sets the delay", []error{tooMany, timeout, nil}, nil, 3},
		{"as long as it takes its time", []error{tooMany}, tooMany, maxThrottled + 1},
		{
			"an error without a delay may follow", []error{tooMany, refused}, refused,
			maxAttempts + 1,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, sent := time.Now(), 0
				err := (&Client{}).retry(t.Context(), func() error {
					answer := tc.answers[min(sent, len(tc.answers)-1)]
					sent++
					return answer
				})
				if !errors.Is(err, tc.want) || sent != tc.sent {
					t.Errorf(
						"retry = %v after %d attempts, want %v after %d", err, sent, tc.want,
						tc.sent,
					)
				}
				if took := time.Since(start); took > 15*time.Second+maxThrottled*time.Second {
					t.Errorf("took %s", took)
				}
			})
		})
	}
}

func TestExplainNamesTheServer(t *testing.T) {
	c := &Client{host: "https://127.0.0.1:1"}
	err := c.explain(fmt.Errorf("list pods: %w", refused))
	const want = "cannot reach the cluster at https://127.0.0.1:1: dial: connect: connection " +
		"refused"
	if err.Error() != want {
		t.Errorf("error = %q, want %q", err, want)
	}
	if got := c.explain(invalid); got != error(invalid) {
		t.Errorf("an answer of the server was changed to %v", got)
	}
}

// TestTransientErrors covers the errors that a write retries, by reason or by text.
func TestTransientErrors(t *testing.T) {
	quota := apierrors.NewConflict(
		schema.GroupResource{Resource: "resourcequotas"},
		"q",
		errors.New("changed"),
	)
	quota.ErrStatus.Message = `Operation cannot be fulfilled on resourcequotas "q": changed`
	for _, tc := range []struct {
		err      error
		want     bool
		uncalled bool
	}{
		{nil, false, false}, {internal, true, false},
		{fmt.Errorf("wrapped: %w", internal), true, false}, {quota, true, false},
		{errors.New(`Internal error occurred: failed calling webhook "a"`), true, true},
		{
			fmt.Errorf(
				`wrapped: %w`,
				errors.New(`Internal error occurred: failed calling admission webhook "a"`),
			),
			true, true,
		},
		{
			errors.New(`conversion webhook for example.com/v1, Kind=A failed: Post "https://a"`),
			true, true,
		},
		{errors.New("conversion webhook for example.com/v1 is fine"), false, false},
		{errors.New("etcdserver: leader changed"), true, false}, {errors.New("etcdserver: " +
			"request timed out"), true, false},
		{errors.New("etcdserver: too large"), false, false},
		{errors.New("leader changed"), false, false},
		{apierrors.NewConflict(pods, "web", errors.New("changed")), false, false},
		{noObject, false, false}, {invalid, false, false},
	} {
		if got := transient(tc.err) || among(transientErrors, tc.err); got != tc.want {
			t.Errorf("%v is repeated: %t, want %t", tc.err, got, tc.want)
		}
		if got := WebhookUnavailable(tc.err); got != tc.uncalled {
			t.Errorf("WebhookUnavailable(%v) = %t, want %t", tc.err, got, tc.uncalled)
		}
	}
}

// TestClosedConnections checks the errors of requests whose connection was closed: a server that is
// being restarted says so, a write meets a closed one, and the library then ends the other requests
// of the same connection.
func TestClosedConnections(t *testing.T) {
	for _, cause := range []error{
		errors.New(`http2: server sent GOAWAY and closed the connection; LastStreamID=1, ` +
			`ErrCode=NO_ERROR, debug=""`),
		errors.New("http2: client connection force closed via ClientConn.Close"),
		&net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)},
	} {
		err := &url.Error{Op: "Delete", Err: cause}
		if !transient(err) || !maybeStored(err) {
			t.Errorf("%v: transient %t, perhaps stored %t", err, transient(err), maybeStored(err))
		}
	}
}

// TestReadingRetries reads from a server that does not answer a first time.
func TestReadingRetries(t *testing.T) {
	one := thing("v1", "ConfigMap", "n/one", "x=y")
	const path = "GET /api/v1/namespaces/n/configmaps"
	const single, alone = path + "?fieldSelector=metadata.name%3Done&limit=10", path + "/one"
	a := &api{groups: kindsOfAPI(), answers: map[string][]any{
		single: {http.StatusServiceUnavailable, http.StatusForbidden},
		alone:  {http.StatusServiceUnavailable, one},
		cmPath: {http.StatusServiceUnavailable, page("5", "", one)},
	}}
	c := a.start(t)
	target := Target{Ref: object.Ref{Kind: "ConfigMap", Namespace: "n", Name: "one"}}
	if found, err := c.Read(t.Context(), []Target{target}); err != nil ||
		found.Objects[target.Ref] == nil {
		t.Errorf("read %v, %v", found, err)
	}
	if found, err := c.List(t.Context(), configMaps, "", map[string]string{"x": "y"}); err != nil ||
		len(found) != 1 {
		t.Errorf("list %v, %v", found, err)
	}
	want := []string{alone, alone, single, single, cmPath, cmPath}
	slices.Sort(want)
	if diff := cmp.Diff(want, a.requests()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// TestSentOnce asks a server that asks for a delay: the library repeats no request, and this
// package repeats it after the delay.
func TestSentOnce(t *testing.T) {
	sent := 0
	client := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if sent++; sent%2 == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_ = json.NewEncoder(w).Encode(crontab().Object)
	})
	gvr := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "crontabs"}
	_, err := client.of(gvr, "n", false).Get(t.Context(), "a", metav1.GetOptions{})
	if seconds, _ := apierrors.SuggestsClientDelay(err); sent != 1 || seconds != 1 {
		t.Errorf("%d requests, %v", sent, err)
	}
	sent = 0
	err = client.whenAsked(t.Context(), func() error {
		_, err := client.of(gvr, "n", false).Get(t.Context(), "a", metav1.GetOptions{})
		return err
	})
	if err != nil || sent != 2 {
		t.Errorf("%d requests, %v", sent, err)
	}
}

// TestRenewedCredentials reads from a server that refuses the first token of a plugin.
func TestRenewedCredentials(t *testing.T) {
	for _, tc := range []struct {
		name, next string
		sent       int
		ok         bool
	}{
		{"another token", "second", 2, true},
		{"the same token", "first", 2, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "credential")
			write := func(token string) {
				text := `{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
					"status": {"token": "` + token + `"}}`
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Error(err)
				}
			}
			write("first")
			sent := 0
			server := httptest.NewServer(http.HandlerFunc(
				func(w http.ResponseWriter, r *http.Request) {
					sent++
					if r.Header.Get("Authorization") != "Bearer second" {
						write(tc.next)
						w.WriteHeader(http.StatusUnauthorized)
						return
					}
					w.Header().Set("Content-Type", "application/json")
					_ = json.NewEncoder(w).Encode(crontab().Object)
				}))
			defer server.Close()
			client, err := New(&rest.Config{Host: server.URL, ExecProvider: &clientcmdapi.ExecConfig{
				APIVersion: "client.authentication.k8s.io/v1", Command: "cat", Args: []string{file},
				InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
			}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			gvr := schema.GroupVersionResource{
				Group: "example.com", Version: "v1", Resource: "crontabs",
			}
			err = client.whenAsked(t.Context(), func() error {
				_, err := client.of(gvr, "n", false).Get(t.Context(), "a", metav1.GetOptions{})
				return err
			})
			if (err == nil) != tc.ok || sent != tc.sent {
				t.Errorf("%d requests, %v", sent, err)
			}
		})
	}
}
