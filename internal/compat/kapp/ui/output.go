package ui

import (
	"errors"
	"io"
	"strings"
	"sync"
	"syscall"
)

// stream is the standard output or the standard error.
type stream int

const (
	toOut stream = iota
	toErr
)

// maxQueued is the number of queued bytes from which put blocks. A reader that stops reading thus
// neither stops the run nor fills the memory.
const maxQueued = 16 << 20

type chunk struct {
	to   stream
	text string
}

// output writes to two streams in the order of put. A goroutine writes, so that a slow reader does
// not slow down callers. It lives while the queue is not empty. After an error nothing more is
// written to that stream.
type output struct {
	writers [2]io.Writer

	mu      sync.Mutex
	changed *sync.Cond
	queue   []chunk
	size    int // bytes in the queue
	writing bool
	failed  [2]error
}

func newOutput(out, err io.Writer) *output {
	o := &output{writers: [2]io.Writer{out, err}}
	o.changed = sync.NewCond(&o.mu)
	return o
}

// put queues a text.
func (o *output) put(to stream, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.size > maxQueued {
		o.changed.Wait()
	}
	o.queue = append(o.queue, chunk{to, text})
	o.size += len(text)
	if !o.writing {
		o.writing = true
		go o.write() // drain waits for it
	}
}

// write writes until the queue is empty.
func (o *output) write() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) > 0 {
		queue := o.queue
		o.queue, o.size = nil, 0
		o.changed.Broadcast()
		for len(queue) > 0 {
			run := 1
			for run < len(queue) && queue[run].to == queue[0].to {
				run++
			}
			o.send(queue[:run])
			queue = queue[run:]
		}
	}
	o.writing = false
	o.changed.Broadcast()
}

// send writes chunks of one stream at once, and releases the lock while it writes.
func (o *output) send(chunks []chunk) {
	to := chunks[0].to
	if o.failed[to] != nil {
		return
	}
	o.mu.Unlock()
	text := chunks[0].text
	if len(chunks) > 1 {
		var b strings.Builder
		for _, c := range chunks {
			b.WriteString(c.text)
		}
		text = b.String()
	}
	_, err := io.WriteString(o.writers[to], text)
	o.mu.Lock()
	o.failed[to] = err
}

// drain waits until the queue is written.
func (o *output) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.writing {
		o.changed.Wait()
	}
}

// firstError returns the first error of writing to the standard output.
func (o *output) firstError() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed[toOut]
}

// isClosedPipe reports whether the reader has gone away, which is no error for users.
func isClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}
