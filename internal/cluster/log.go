package cluster

import (
	"bufio"
	"context"
	"strconv"
	"strings"

	"github.com/muster-deploy/muster/internal/object"
)

// Log gives the last lines of a container's log, of its present run or the one before; none where there is none, or where
// it may not be read.
func (c *Client) Log(ctx context.Context, pod object.Ref, container string, previous bool, lines int) []string {
	stream, err := c.discovery.RESTClient().Get().
		AbsPath("/api/v1/namespaces", pod.Namespace, "pods", pod.Name, "log").
		Param("container", container).
		Param("tailLines", strconv.Itoa(lines)).
		Param("previous", strconv.FormatBool(previous)).
		Stream(ctx)
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
