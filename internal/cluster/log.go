package cluster

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/muster-deploy/muster/internal/object"
)

// logRemoved begins what a kubelet answers instead of a log that it has removed meanwhile, because
// a later run of the container has ended. Once it has reported that, it answers with the later log.
const logRemoved = "unable to retrieve container logs for "

// Log returns the last lines of a container's log, of its present run or of the previous one. It
// returns none if the log does not exist or must not be read.
func (c *Client) Log(
	ctx context.Context, pod object.Ref, container string, previous bool, lines int,
) []string {
	for delay := newDelay(); ; pause(ctx, delay.Step()) {
		found := c.logOnce(ctx, pod, container, previous, lines)
		if len(found) != 1 || !strings.HasPrefix(found[0], logRemoved) {
			return found
		}
		if delay.Steps == 0 || ctx.Err() != nil {
			return nil
		}
	}
}

func (c *Client) logOnce(
	ctx context.Context, pod object.Ref, container string, previous bool, lines int,
) []string {
	stream, err := c.stream(ctx, c.log(pod, container).
		Param("tailLines", strconv.Itoa(lines)).
		Param("previous", strconv.FormatBool(previous)))
	if err != nil {
		return nil
	}
	defer stream.Close()
	var found []string
	for scanner := bufio.NewScanner(stream); scanner.Scan() && len(found) < lines; {
		found = append(found, strings.TrimRight(scanner.Text(), " \t\r"))
	}
	return found
}

// LogOptions select a part of a log. The zero value selects all that was written so far.
type LogOptions struct {
	Lines      *int      // number of last lines; nil for all
	Follow     bool      // stream new lines until the container ends
	Since      time.Time // skip older lines; zero for none
	Previous   bool      // the log of the run before the last restart
	Timestamps bool      // lines begin with the time at which they were written
}

// StreamLog streams the log of a container. The stream ends with the container, with the context,
// or when the server closes it. The caller closes it.
func (c *Client) StreamLog(
	ctx context.Context, pod object.Ref, container string, o LogOptions,
) (io.ReadCloser, error) {
	request := c.log(pod, container).Param("follow", strconv.FormatBool(o.Follow))
	if o.Lines != nil {
		request = request.Param("tailLines", strconv.Itoa(*o.Lines))
	}
	if o.Previous {
		request = request.Param("previous", "true")
	}
	if o.Timestamps {
		request = request.Param("timestamps", "true")
	}
	if !o.Since.IsZero() {
		request = request.Param("sinceTime", o.Since.UTC().Format(time.RFC3339))
	}
	stream, err := c.stream(ctx, request)
	if err != nil {
		return nil, c.explain(fmt.Errorf(
			"read the log of container %s of %s: %w", container, pod, err,
		))
	}
	return stream, nil
}

// stream opens the stream that answers a request.
func (c *Client) stream(
	ctx context.Context, request *rest.Request,
) (stream io.ReadCloser, err error) {
	err = c.whenAsked(ctx, func() (err error) {
		stream, err = request.Stream(ctx)
		return err
	})
	return stream, err
}

// log returns a request for the log of a container.
func (c *Client) log(pod object.Ref, container string) *rest.Request {
	return c.rest.Get().
		AbsPath("/api/v1/namespaces", pod.Namespace, "pods", pod.Name, "log").
		Param("container", container)
}
