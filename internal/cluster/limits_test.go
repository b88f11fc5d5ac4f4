package cluster

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/muster-deploy/muster/internal/object"
)

// requests are all kinds of requests that a caller waits for, besides discovery.
var requests = map[string]func(*testing.T, *Client) error{
	"read": func(t *testing.T, c *Client) error {
		c.markServed(crontab().GroupVersionKind())
		_, err := c.Read(t.Context(), []Target{{Ref: object.RefOf(crontab())}})
		return err
	},
	"list": func(t *testing.T, c *Client) error {
		_, err := c.List(t.Context(), crontab().GroupVersionKind().GroupKind(), "", nil)
		return err
	},
	"write": func(t *testing.T, c *Client) error {
		_, err := c.Write(t.Context(), Write{Object: crontab(), Method: Create})
		return err
	},
	"delete": func(t *testing.T, c *Client) error {
		_, err := c.Delete(t.Context(), Delete{Ref: object.RefOf(crontab())})
		return err
	},
	"query": func(t *testing.T, c *Client) error {
		listed := make(chan error, 1)
		c.WatchQuery(t.Context(), Query{Kind: crontab().GroupVersionKind().GroupKind(), Once: true},
			func(e ObjectEvent) {
				if e.Listed {
					listed <- e.Err
				}
			})
		return <-listed
	},
	"log": func(t *testing.T, c *Client) error {
		pod := object.Ref{Kind: "Pod", Namespace: "demo", Name: "web"}
		stream, err := c.StreamLog(t.Context(), pod, "main", LogOptions{})
		if err != nil {
			return err
		}
		defer stream.Close()
		_, err = io.ReadAll(stream)
		return err
	},
	"user": func(t *testing.T, c *Client) error {
		_, err := c.User(t.Context())
		return err
	},
}

// A server may ask to wait, but not for a day, and its error says what it asked for.
func TestServerThatAsksToWaitForADay(t *testing.T) {
	for name, send := range requests {
		for _, code := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
			for _, form := range []string{"header", "status"} {
				t.Run(strings.Join([]string{name, http.StatusText(code), form}, " "), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						client := handled(t, func(w http.ResponseWriter, r *http.Request) {
							w.Header().Set("Retry-After", "86400")
							if form == "header" {
								http.Error(w, "maintenance", code)
								return
							}
							err := apierrors.NewTooManyRequests("maintenance", 86400)
							err.ErrStatus.Code = int32(code)
							w.Header().Set("Content-Type", "application/json")
							w.WriteHeader(code)
							_ = json.NewEncoder(w).Encode(err.ErrStatus)
						})
						began := time.Now()
						err := send(t, client)
						if took := time.Since(began); took > 5*time.Minute {
							t.Errorf("took %s", took)
						}
						if err == nil || !strings.Contains(err.Error(), "the server asks to wait 24h0m0s") {
							t.Errorf("error %v", err)
						}
					})
				})
			}
		}
	}
}

// A discovery does not wait for a day either.
func TestDiscoveryThatIsToWaitForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := discovering(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "86400")
			http.Error(w, "maintenance", http.StatusServiceUnavailable)
		})
		began := time.Now()
		_, err := client.Kind(t.Context(), schema.GroupKind{Kind: "Pod"})
		if took := time.Since(began); took > 5*time.Minute {
			t.Errorf("took %s", took)
		}
		if err == nil || !strings.Contains(err.Error(), "the server asks to wait 24h0m0s") {
			t.Errorf("error %v", err)
		}
	})
}

// The waits that a server asks for in turn are limited together.
func TestServerThatAsksToWaitAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := (&Client{}).retry(t.Context(), func() error {
			return apierrors.NewTooManyRequests("maintenance", 59)
		})
		if took := time.Since(began); took > 5*time.Minute || took < time.Minute {
			t.Errorf("took %s", took)
		}
		if !apierrors.IsTooManyRequests(err) {
			t.Errorf("error %v", err)
		}
	})
}

// A kind that the server fails to list for its own cache holds up nobody for long. One whose cache
// is filled for the first time is waited for.
func TestServerThatCannotFillItsCache(t *testing.T) {
	for text, most := range map[string]time.Duration{
		"storage is (re)initializing":                                       5 * time.Minute,
		"storage is (re)initializing: failed to list: conversion webhook x": 15 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			err := (&Client{}).retry(t.Context(), func() error {
				return apierrors.NewTooManyRequests(text, 2)
			})
			if took := time.Since(began); took > most || took < most/5 {
				t.Errorf("%s: took %s", text, took)
			}
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: error %v", text, err)
			}
		})
	}
}

// An answer whose body stalls, or comes a byte at a time, ends with the reason.
func TestBodyThatStalls(t *testing.T) {
	for name, send := range requests {
		for _, pause := range []time.Duration{24 * time.Hour, 50 * time.Second} {
			if name == "log" && pause < time.Hour {
				continue // a log may be as long as it wants to
			}
			t.Run(name+" "+pause.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					over := make(chan struct{})
					defer close(over)
					client := handled(t, func(w http.ResponseWriter, r *http.Request) {
						w.Header().Set("Content-Type", "application/json")
						w.WriteHeader(http.StatusOK)
						for range 1000 {
							if _, err := io.WriteString(w, " "); err != nil {
								return
							}
							select {
							case <-time.After(pause):
							case <-over:
								return
							}
						}
					})
					began := time.Now()
					err := send(t, client)
					if took := time.Since(began); took > 20*time.Minute {
						t.Errorf("took %s", took)
					}
					if err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "within") {
						t.Errorf("error %v", err)
					}
				})
			})
		}
	}
}

// discovering returns a client that knows no kinds yet.
func discovering(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	transport := handlerTransport{answer}
	client, err := New(&rest.Config{Host: "http://c", Transport: transport}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}
