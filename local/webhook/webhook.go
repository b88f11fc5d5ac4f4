// Package webhook serves admission and conversion webhooks on this host, for tests and scripts. The
// API server of a plane calls them by URL, or by a Service of the type ExternalName whose name is
// 127.0.0.1: no traffic reaches the pods of a plane.
//
// The path of a request says what the webhook does with the object:
//
//	/allow                 nothing
//	/deny/TEXT             refuses it
//	/add/FIELD.../VALUE    sets a field, for example /add/data/color/red
//	/drop/FIELD...         removes a field
//	/inject/NAME           adds a sidecar to a pod or a pod template, as service meshes do
//	/slow/...              as the rest of the path, but the answer waits for Release
//	/convert/OLD/NEW       renames a field of the spec in conversions to and from v1
package webhook

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"sync"
	"time"
)

// Server is a webhook server on a port of this host. Clients are refused until it serves.
type Server struct {
	Port int
	CA   string // certificate of its authority, PEM

	socket      *socket
	certificate tls.Certificate
	server      *http.Server

	mu     sync.Mutex
	held   chan struct{}  // closed when slow answers are released
	counts map[string]int // requests by path
}

// Open reserves a port for a webhook server with a certificate for the names, beside 127.0.0.1.
func Open(names ...string) (*Server, error) {
	ca, certificate, err := newCertificate(names)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	s := &Server{
		CA: ca, certificate: certificate, held: make(chan struct{}), counts: map[string]int{},
	}
	if s.socket, err = reserve(); err != nil {
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	s.Port = s.socket.port
	return s, nil
}

// URL returns the address of the server.
func (s *Server) URL() string { return fmt.Sprintf("https://127.0.0.1:%d", s.Port) }

// Bundle returns the certificate of the authority as a configuration has it.
func (s *Server) Bundle() string { return base64.StdEncoding.EncodeToString([]byte(s.CA)) }

// Serve starts to answer. A server that already does is no error.
func (s *Server) Serve() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != nil {
		return nil
	}
	listener, err := s.socket.listen()
	if err != nil {
		return err
	}
	s.server = &http.Server{
		Handler: s, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
	}
	config := &tls.Config{Certificates: []tls.Certificate{s.certificate}}
	go func() { // ends with Close
		_ = s.server.Serve(tls.NewListener(listener, config))
	}()
	return nil
}

// Release lets slow answers be sent, now and later.
func (s *Server) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.held:
	default:
		close(s.held)
	}
}

// Close ends the server and its requests.
func (s *Server) Close() error {
	s.Release()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != nil {
		return errors.Join(s.server.Close(), s.socket.close())
	}
	return s.socket.close()
}

// Count returns how many requests for a path there were.
func (s *Server) Count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[path]
}

// wait returns when slow answers may be sent, or the client is gone.
func (s *Server) wait(ctx context.Context) {
	select {
	case <-s.held:
	case <-ctx.Done():
	}
}
