package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// breakWatch answers a watch.
func (p *Proxy) breakWatch(w http.ResponseWriter, r *http.Request, kind Kind) {
	switch kind {
	case WatchGone:
		refuse(w, apierrors.NewResourceExpired("too old resource version"))
	case WatchUnavailable:
		refuse(w, apierrors.NewServiceUnavailable("not now"))
	case WatchSilent:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // a client that is gone is no concern
		pause(r.Context(), silence)
	case WatchLate:
		p.proxy.ServeHTTP(lateWriter{w, r.Context()}, r)
	case WatchReordered:
		reordered := &swappingWriter{ResponseWriter: w}
		defer reordered.stop()
		p.proxy.ServeHTTP(reordered, r)
	default:
		ctx, cancel := context.WithTimeout(r.Context(), openTime)
		defer cancel()
		p.proxy.ServeHTTP(w, r.WithContext(ctx))
	}
}

// lateWriter delays what is written.
type lateWriter struct {
	http.ResponseWriter
	ctx context.Context
}

// Write writes the bytes later.
func (l lateWriter) Write(p []byte) (int, error) {
	pause(l.ctx, late)
	return l.ResponseWriter.Write(p)
}

// Unwrap returns the writer for flushes.
func (l lateWriter) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// swappingWriter holds an event of a watch back until the next one comes, which goes first if it is
// about another object, or until late. The events are JSON, one in a line. Those of one object keep
// their order: no server changes that.
type swappingWriter struct {
	http.ResponseWriter

	mu      sync.Mutex
	partial []byte // of a line
	held    []byte // a line, or none
	object  types.UID
	timer   *time.Timer
}

// Write takes a part of the stream. It succeeds always: a client that is gone ends the request.
func (s *swappingWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.partial = append(s.partial, p...)
	for {
		end := bytes.IndexByte(s.partial, '\n') + 1
		if end == 0 {
			return len(p), nil
		}
		s.take(bytes.Clone(s.partial[:end]))
		s.partial = s.partial[end:]
	}
}

// take takes an event.
func (s *swappingWriter) take(line []byte) {
	var event struct {
		Object struct{ Metadata struct{ UID types.UID } }
	}
	_ = json.Unmarshal(line, &event) // what is no event keeps its place
	object := event.Object.Metadata.UID
	if s.held != nil && object != "" && object != s.object {
		s.send(line)
		s.release()
		return
	}
	s.release()
	if object == "" {
		s.send(line)
		return
	}
	s.held, s.object = line, object
	s.timer = time.AfterFunc(late, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.release()
	})
}

// release sends the event that is held.
func (s *swappingWriter) release() {
	if s.held == nil {
		return
	}
	s.timer.Stop()
	s.send(s.held)
	s.held = nil
}

// send sends an event.
func (s *swappingWriter) send(line []byte) {
	_, _ = s.ResponseWriter.Write(line)
	_ = http.NewResponseController(s.ResponseWriter).Flush()
}

// FlushError sends nothing: each event is sent when it is released.
func (s *swappingWriter) FlushError() error { return nil }

// stop drops what is held: the watch has ended, and the client asks for it again.
func (s *swappingWriter) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil {
		s.timer.Stop()
		s.held = nil
	}
}
