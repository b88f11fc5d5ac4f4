package kubelet

import (
	"bytes"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// logQuery is what a reader of logs asks for, in the parameters of a kubelet.
type logQuery struct {
	previous, follow, timestamps bool
	tail, limit, sinceSeconds    *int64
	sinceTime                    time.Time
}

func parseQuery(values url.Values) (logQuery, error) {
	q := logQuery{}
	for name, into := range map[string]*bool{
		"previous": &q.previous, "follow": &q.follow, "timestamps": &q.timestamps,
	} {
		text := values.Get(name)
		if text == "" {
			continue
		}
		flag, err := strconv.ParseBool(text)
		if err != nil {
			return q, fmt.Errorf("parameter %s: %w", name, err)
		}
		*into = flag
	}
	numbers := map[string]**int64{
		"tailLines":    &q.tail,
		"limitBytes":   &q.limit,
		"sinceSeconds": &q.sinceSeconds,
	}
	for name, into := range numbers {
		text := values.Get(name)
		if text == "" {
			continue
		}
		number, err := strconv.ParseInt(text, 10, 64)
		if err != nil || number < 0 {
			return q, fmt.Errorf("parameter %s: %q is not a number of at least 0", name, text)
		}
		*into = &number
	}
	if text := values.Get("sinceTime"); text != "" {
		since, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return q, fmt.Errorf("parameter sinceTime: %w", err)
		}
		q.sinceTime = since
	}
	return q, nil
}

// apply picks from a log that was written at one moment what was asked for.
func (q logQuery) apply(text string, written, now time.Time) string {
	since := q.sinceTime
	if q.sinceSeconds != nil {
		since = now.Add(-time.Duration(*q.sinceSeconds) * time.Second)
	}
	if text == "" || written.Before(since) {
		return ""
	}
	lines := bytes.SplitAfter([]byte(text), []byte("\n"))
	lines = lines[:len(lines)-1] // The text ends with the end of a line, and nothing comes after it.
	if q.tail != nil {
		lines = lines[max(0, int64(len(lines))-*q.tail):]
	}
	var out []byte
	for _, line := range lines {
		if q.timestamps {
			out = append(out, written.UTC().Format(time.RFC3339Nano)+" "...)
		}
		out = append(out, line...)
	}
	if q.limit != nil {
		out = out[:min(*q.limit, int64(len(out)))]
	}
	return string(out)
}
