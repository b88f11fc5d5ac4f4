package cluster

import (
	"net/http"
	"sync/atomic"
	"time"
)

// Throttled returns the number of 429 responses so far. The client repeated each request when the
// server permitted it.
func (c *Client) Throttled() int64 { return c.meter.throttled.Load() }

// ClockAhead returns how far the clock of the server is ahead of that of this machine, by the dates
// of its responses; 0 if the difference is small.
func (c *Client) ClockAhead() time.Duration { return time.Duration(c.meter.ahead.Load()) }

// clockTolerance is the difference between two clocks that does not count. Dates of responses are
// in whole seconds, and a response takes some time.
const clockTolerance = 3 * time.Second

// meter is a transport that counts 429 responses and compares clocks.
type meter struct {
	next      http.RoundTripper
	throttled atomic.Int64
	ahead     atomic.Int64
}

// RoundTrip sends the request.
func (m *meter) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := m.next.RoundTrip(req)
	if resp == nil {
		return resp, err
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		m.throttled.Add(1)
	}
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		ahead := time.Until(date)
		if (ahead - time.Duration(m.ahead.Load())).Abs() > clockTolerance {
			m.ahead.Store(int64(ahead))
		}
	}
	return resp, err
}
