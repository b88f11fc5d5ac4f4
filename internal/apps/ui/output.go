package ui

import (
	"errors"
	"io"
	"strings"
	"sync"
	"syscall"
)

// stream is one of the two streams.
type stream int

const (
	toOut stream = iota
	toErr
)

// most is how many bytes wait to be written before those who print have to wait too: a reader that stopped reading does not
// stop the run, nor fill the memory.
const most = 16 << 20

type chunk struct {
	to   stream
	text string
}

// output writes to two streams in the order of put, from a goroutine of its own, so that a slow reader does not slow those who
// print. The goroutine lives while there is something to write. A stream that gave an error is written to no more.
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
	for o.size > most {
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

// send writes chunks of one stream at once, and lets the lock go meanwhile.
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

// drain waits until all is written.
func (o *output) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.writing {
		o.changed.Wait()
	}
}

// failure is the first error of writing to the standard output.
func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed[toOut]
}

// unread reports whether an error of writing is that nobody reads any more, which is nothing to tell.
func unread(err error) bool { return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) }
