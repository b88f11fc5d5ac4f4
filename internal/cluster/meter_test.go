package cluster

import (
	"net/http"
	"testing"
	"time"
)

// dated answers every request at some time of the server.
type dated struct{ ahead time.Duration }

func (d *dated) RoundTrip(*http.Request) (*http.Response, error) {
	date := time.Now().Add(d.ahead).UTC().Format(http.TimeFormat)
	return &http.Response{Header: http.Header{"Date": {date}}}, nil
}

// The clocks are compared by every response, and small differences do not count.
func TestClockAhead(t *testing.T) {
	server := &dated{}
	c := &Client{meter: &meter{next: server}}
	for _, ahead := range []time.Duration{
		0, time.Second, -10 * time.Minute, 10 * time.Minute, 10*time.Minute + time.Second,
	} {
		server.ahead = ahead
		if _, err := c.meter.RoundTrip(nil); err != nil {
			t.Fatal(err)
		}
		if off := (c.ClockAhead() - ahead).Abs(); off > clockTolerance {
			t.Errorf("clock ahead by %s, want %s", c.ClockAhead(), ahead)
		}
		if ahead < clockTolerance && ahead >= 0 && c.ClockAhead() != 0 {
			t.Errorf("clock ahead by %s although the difference is small", c.ClockAhead())
		}
	}
}
