package cluster

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/muster-deploy/muster/internal/object"
)

// handlerTransport is a transport that calls a handler without a network, for tests with synctest.
type handlerTransport struct{ handler http.HandlerFunc }

// RoundTrip returns the response when the handler has begun to answer.
func (h handlerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	reader, writer := io.Pipe()
	w := &pipeResponse{PipeWriter: writer, header: http.Header{}, begun: make(chan int, 1)}
	go func() { // it ends with the handler
		defer writer.Close()
		h.handler(w, req)
		w.WriteHeader(http.StatusOK)
	}()
	select {
	case code := <-w.begun:
		context.AfterFunc(req.Context(), func() { reader.CloseWithError(req.Context().Err()) })
		return &http.Response{StatusCode: code, Header: w.header, Body: reader, Request: req}, nil
	case <-req.Context().Done():
		reader.CloseWithError(req.Context().Err())
		return nil, req.Context().Err()
	}
}

// pipeResponse is the response of a handler.
type pipeResponse struct {
	*io.PipeWriter
	header http.Header
	begun  chan int
	wrote  bool
}

func (w *pipeResponse) Header() http.Header { return w.header }

// WriteHeader begins the response, once.
func (w *pipeResponse) WriteHeader(code int) {
	if !w.wrote {
		w.wrote = true
		w.begun <- code
	}
}

// Write writes a part of the body.
func (w *pipeResponse) Write(data []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.PipeWriter.Write(data)
}

// handled returns a client, without a network, of a server like that of serving.
func handled(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	transport := handlerTransport{withoutKinds(answer)}
	client, err := New(&rest.Config{Host: "http://c", Transport: transport}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	learn(t, client)
	return client
}

// An interrupt ends the pause before a write is sent again. Within the grace it is sent again.
func TestInterruptEndsThrottledWrite(t *testing.T) {
	for _, tc := range []struct {
		name              string
		code              int
		retryAfter        string
		grace, took, stop time.Duration
		sent              int
	}{
		{"429", 429, "30", 0, 3 * time.Second, 3 * time.Second, 1},
		{"503", 503, "30", 0, 3 * time.Second, 3 * time.Second, 1},
		{"already interrupted", 429, "30", 0, 0, 0, 1},
		{"without a delay", 503, "", 0, time.Second, time.Second, 5},
		{"with grace", 429, "1", 2500 * time.Millisecond, 3500 * time.Millisecond, time.Second, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent := 0
				client := handled(t, func(w http.ResponseWriter, r *http.Request) {
					sent++
					w.Header().Set("Retry-After", tc.retryAfter)
					http.Error(w, "too many", tc.code)
				})
				interrupt, cancel := context.WithCancel(t.Context())
				time.AfterFunc(tc.stop, cancel)
				if tc.stop == 0 {
					cancel()
				}
				began := time.Now()
				_, err := client.Write(
					Finish(interrupt, tc.grace), Write{Object: crontab(), Method: Create},
				)
				interrupted := (*InterruptedError)(nil)
				if !errors.As(err, &interrupted) || !errors.Is(err, context.Canceled) || Refused(err) {
					t.Errorf("error %v", err)
				}
				if took := time.Since(began); took != tc.took || sent != tc.sent {
					t.Errorf("%d requests in %s, want %d in %s", sent, took, tc.sent, tc.took)
				}
			})
		})
	}
}

// A request is not sent again after the end of its context.
func TestPauseBeyondDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		late := apierrors.NewTooManyRequests("later", 30)
		err := (&Client{}).retry(ctx, func() error { return late })
		if took := time.Since(began); !errors.Is(err, late) || took != 0 {
			t.Errorf("%v after %s", err, took)
		}
	})
}

// crontabs answers a list of crontabs.
func crontabs(w http.ResponseWriter, version string) {
	_ = json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": "example.com/v1", "kind": "CronTabList",
		"metadata": map[string]any{"resourceVersion": version}, "items": []any{crontab().Object},
	})
}

// A server whose watches expire at once is asked every two seconds. After a watch that lasted
// nothing is left of that pause.
func TestExpiredWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var lists []time.Time
		seen := func() []time.Time {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(lists)
		}
		var lasts atomic.Bool
		client := handled(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("watch") == "" {
				mu.Lock()
				lists = append(lists, time.Now())
				mu.Unlock()
				crontabs(w, "5")
				return
			}
			if lasts.Load() {
				w.WriteHeader(http.StatusOK)
				time.Sleep(time.Minute)
				_ = json.NewEncoder(w).Encode(map[string]any{"type": "ERROR", "object": metav1.Status{
					TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure",
					Reason: metav1.StatusReasonExpired, Code: http.StatusGone,
				}})
				return
			}
			refuse(w, http.StatusGone)
		})
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		client.Watch(ctx, []object.Ref{object.RefOf(crontab())}, func(ObjectEvent) {})
		time.Sleep(time.Minute)
		first := seen()
		if n := len(first); n < 30 || n > 40 || first[1].Sub(began) != 0 {
			t.Errorf("%d lists in a minute, the second after %s", n, first[1].Sub(began))
		}
		lasts.Store(true)
		time.Sleep(3 * time.Minute)
		all := seen()
		if last := all[len(all)-2:]; last[1].Sub(last[0]) != time.Minute {
			t.Errorf("the next list came %s after the one before", last[1].Sub(last[0]))
		}
		cancel()
		time.Sleep(time.Minute) // the last watch ends
	})
}

// A watch that is silent, whether the server began its answer or not, does not hide a change for
// ever. The server is asked to end watches.
func TestSilentWatch(t *testing.T) {
	for _, begins := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var changed atomic.Bool
			client := handled(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("watch") == "" {
					crontabs(w, map[bool]string{false: "5", true: "6"}[changed.Load()])
					return
				}
				if r.URL.Query().Get("timeoutSeconds") != "180" {
					t.Errorf("watch %s", r.URL)
				}
				if begins {
					w.WriteHeader(http.StatusOK)
				}
				<-r.Context().Done()
			})
			ctx, cancel := context.WithCancel(t.Context())
			seen := 0
			client.Watch(ctx, []object.Ref{object.RefOf(crontab())}, func(ObjectEvent) { seen++ })
			time.Sleep(time.Second)
			changed.Store(true)
			time.Sleep(silentPeriod)
			if synctest.Wait(); seen != 2 {
				t.Errorf("seen %d times", seen)
			}
			cancel()
			synctest.Wait()
		})
	}
}

// A server that accepts requests and never answers is one that cannot be reached.
func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		client := handled(t, func(_ http.ResponseWriter, r *http.Request) {
			requests++
			<-r.Context().Done()
		})
		began := time.Now()
		_, err := client.Write(t.Context(), Write{Object: crontab(), Method: Create})
		synctest.Wait()
		if unreachable := (*UnreachableError)(nil); !errors.As(err, &unreachable) || Refused(err) ||
			!strings.Contains(err.Error(), "no answer within 1m5s") {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took != answerTimeout || requests != 1 {
			t.Errorf("%d requests in %s", requests, took)
		}
	})
}

// A single fault on the way of a request is not the end of it, over HTTP/2 as little as before, and
// also if the server had carried it out. An object that exists then is ours.
func TestSingleFaults(t *testing.T) {
	status := func(code int, reason metav1.StatusReason, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure",
				Code: int32(code), Reason: reason, Message: text,
			})
		}
	}
	faults := map[string]http.HandlerFunc{
		"stream":       func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"time-out":     status(504, metav1.StatusReasonTimeout, "it may be carried out"),
		"internal":     status(500, metav1.StatusReasonInternalError, "Internal error occurred"),
		"bare 500":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"bare 504":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(504) },
		"etcd":         status(500, "", "etcdserver: request timed out"),
		"etcd, leader": status(500, metav1.StatusReasonUnknown, "etcdserver: leader changed"),
		"body": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"apiVersion":"example.com/v1",`)
		},
	}
	ref := object.RefOf(crontab())
	requests := map[string]func(ctx context.Context, c *Client) error{
		"read": func(ctx context.Context, c *Client) error {
			c.markServed(crontab().GroupVersionKind())
			found, err := c.Read(ctx, []Target{{Ref: ref}})
			if err == nil && found.Objects[ref] == nil {
				err = errors.New("it counts as absent")
			}
			return err
		},
		"create": func(ctx context.Context, c *Client) error {
			_, err := c.Write(ctx, Write{Object: crontab(), Method: Create})
			return err
		},
		"replace": func(ctx context.Context, c *Client) error {
			_, err := c.Write(ctx, Write{Object: crontab(), Method: Replace})
			return err
		},
		"patch": func(ctx context.Context, c *Client) error {
			_, err := c.Write(ctx, Write{
				Object: crontab(), Method: Patch, PatchType: types.MergePatchType, Patch: []byte("{}"),
			})
			return err
		},
		"delete": func(ctx context.Context, c *Client) error {
			_, err := c.Delete(ctx, Delete{Ref: ref})
			return err
		},
	}
	for fault, fail := range faults {
		for request, send := range requests {
			for _, http2 := range []bool{true, false} {
				t.Run(fault+" "+request, func(t *testing.T) {
					t.Parallel()
					var sent atomic.Int32
					client := securely(t, http2, func(w http.ResponseWriter, r *http.Request) {
						switch first := sent.Add(1) == 1; {
						case first:
							fail(w, r)
						case r.Method == http.MethodPost:
							status(409, metav1.StatusReasonAlreadyExists, "it exists")(w, r)
						case r.Method == http.MethodPut:
							status(409, metav1.StatusReasonConflict, "it has changed")(w, r)
						case r.Method == http.MethodGet && request == "read":
							crontabs(w, "5")
						default:
							_ = json.NewEncoder(w).Encode(crontab().Object)
						}
					})
					if err := send(t.Context(), client); err != nil || sent.Load() < 2 {
						t.Errorf("%v after %d requests", err, sent.Load())
					}
				})
			}
		}
	}
}

// A server that breaks off the stream instead of refusing an object is not asked again.
func TestStreamOnce(t *testing.T) {
	var sent atomic.Int32
	client := securely(t, true, func(http.ResponseWriter, *http.Request) {
		sent.Add(1)
		panic(http.ErrAbortHandler)
	})
	_, err := client.Write(t.Context(), Write{Object: crontab(), Method: Apply, StreamOnce: true})
	if !BrokenStream(err) || sent.Load() != 1 {
		t.Errorf("%v after %d requests", err, sent.Load())
	}
}

// securely returns a client of a server with TLS, like that of serving.
func securely(t *testing.T, http2 bool, answer http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewUnstartedServer(withoutKinds(answer))
	server.EnableHTTP2 = http2
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	client, err := New(&rest.Config{
		Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca},
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	learn(t, client)
	return client
}

// An object that others have replaced after a lost answer is a conflict.
func TestReplacedByOthers(t *testing.T) {
	var sent atomic.Int32
	client := securely(t, true, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case sent.Add(1) == 1:
			panic(http.ErrAbortHandler)
		case r.Method == http.MethodPut:
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(apierrors.NewConflict(
				schema.GroupResource{}, "a", errors.New("it has changed")).Status())
		default:
			live := crontab()
			live.Object["spec"] = map[string]any{"of": "others"}
			_ = json.NewEncoder(w).Encode(live.Object)
		}
	})
	_, err := client.Write(t.Context(), Write{Object: crontab(), Method: Replace})
	if !apierrors.IsConflict(err) || sent.Load() != 3 {
		t.Errorf("%v after %d requests", err, sent.Load())
	}
}
