package engine

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/muster-deploy/muster/internal/ready"
)

// logReader reads the logs of failed containers. It belongs to one goroutine, which receives
// quotes.
type logReader struct {
	cluster Cluster
	lines   int // lines quoted from a log; 0 quotes nothing
	quoted  int // objects whose logs were read
	quotes  chan logQuote
}

// logQuote is the causes of a step with the logs that belong to them.
type logQuote struct {
	step   int
	causes []ready.Cause
}

// readLater starts a worker that reads the logs for the causes of a step and sends them as a quote.
// It reports false if there are no logs to read, or too many were read.
func (l *logReader) readLater(ctx context.Context, step int, causes []ready.Cause) bool {
	if !l.wants(causes) {
		return false
	}
	// It sends its one quote, or ends with the context.
	go func() {
		l.add(ctx, causes)
		select {
		case l.quotes <- logQuote{step, causes}:
		case <-ctx.Done():
		}
	}()
	return true
}

// read adds logs to the causes of many objects. It returns when all are read or the context ends.
func (l *logReader) read(ctx context.Context, all [][]ready.Cause) {
	var logs errgroup.Group
	logs.SetLimit(concurrentLogs)
	for _, causes := range all {
		if l.wants(causes) {
			logs.Go(func() error { l.add(ctx, causes); return nil })
		}
	}
	_ = logs.Wait() // the functions return no error
}

// wants reports whether logs are to be read for causes, and counts them.
func (l *logReader) wants(causes []ready.Cause) bool {
	crashed := func(c ready.Cause) bool { return c.Container != "" }
	if l.lines <= 0 || l.quoted >= maxLogs || !slices.ContainsFunc(causes, crashed) {
		return false
	}
	l.quoted++
	return true
}

// add adds the ends of the logs of failed containers to causes.
func (l *logReader) add(ctx context.Context, causes []ready.Cause) {
	for i, c := range causes {
		if c.Container != "" {
			causes[i].Log = l.cluster.Log(ctx, c.Object, c.Container, c.Previous, l.lines)
		}
	}
}
