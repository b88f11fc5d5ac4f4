package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// answersArchive has requests and the answers of a server. The unit tests of package cluster give
// the client these answers.
var answersArchive = filepath.Join("..", "..", "internal", "cluster", "testdata", "answers.txtar")

// TestAnswers sends the requests of the archive to the server: the answers are still those of the
// archive, but for values that a server generates. Each section has a request in its first line:
//
//   - METHOD PATH, where NAMESPACE stands for a namespace with three Secrets, and TOKEN and VERSION
//     for the continue token and the resource version of the latest list that has them
//   - "metadata" before it asks for metadata alone, and "nobody" is a user without rights
//   - "compact", which has no answer, compacts etcd; a request for what is compacted then is
//     repeated until the server answers by it
//
// Then follow the status code of the answer and its body.
func TestAnswers(t *testing.T) {
	inTurn(t)
	installResourceGroup(t)
	archive, err := txtar.ParseFile(answersArchive)
	check(t, err)
	s := &answers{t: t, namespace: "answers-" + utilrand.String(5)}
	s.setUp()
	for i, section := range archive.Files {
		request, want, _ := strings.Cut(string(section.Data), "\n")
		if request == "compact" {
			check(t, cluster.Compact(t.Context()))
			continue
		}
		got := s.send(request)
		for end := time.Now().Add(time.Minute); strings.HasPrefix(section.Name, "expired") &&
			!strings.Contains(got, `"code":410`) && time.Now().Before(end); got = s.send(request) {
			time.Sleep(time.Second)
		}
		if *recordContract {
			archive.Files[i].Data = []byte(request + "\n" + got)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the answer differs (-recorded +got):\n%s", section.Name, diff)
		}
	}
	if *recordContract {
		check(t, os.WriteFile(answersArchive, txtar.Format(archive), 0o600))
	}
}

// answers is the state of one run of TestAnswers.
type answers struct {
	t                         *testing.T
	namespace, token, version string
	config                    *rest.Config
}

// setUp creates the objects that the requests are about.
func (s *answers) setUp() {
	var err error
	s.config, err = clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	check(s.t, err)
	s.config.Timeout = time.Minute
	check(s.t, createNamespace(s.t.Cleanup, s.namespace))
	for _, name := range []string{"one", "three", "two"} {
		body := fmt.Sprintf(`{"metadata":{"name":%q},"data":{"a":"YQ=="}}`, name)
		s.exchange(s.config, http.MethodPost, "/api/v1/namespaces/NAMESPACE/secrets", "", body)
	}
}

// send sends the request of a line and returns the status code and the body of the answer.
func (s *answers) send(line string) string {
	words := strings.Fields(line)
	config, accept := s.config, "application/json"
	switch words[0] {
	case "nobody":
		words, config = words[1:], rest.CopyConfig(s.config)
		config.Impersonate.UserName = "nobody"
	case "metadata":
		words = words[1:]
		accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	}
	return s.exchange(config, words[0], words[1], accept, "")
}

// exchange sends one request and returns the status code and the body of the answer.
func (s *answers) exchange(config *rest.Config, method, path, accept, body string) string {
	s.t.Helper()
	client, err := rest.HTTPClientFor(config)
	check(s.t, err)
	path = strings.NewReplacer("NAMESPACE", s.namespace, "TOKEN", s.token, "VERSION", s.version).
		Replace(path)
	ctx, cancel := context.WithTimeout(s.t.Context(), hangTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, config.Host+path,
		strings.NewReader(body))
	check(s.t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", accept)
	response, err := client.Do(request)
	check(s.t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	check(s.t, err)
	return fmt.Sprintf("%d\n%s", response.StatusCode, s.format(data))
}

// format returns the JSON values of a body without what a server generates, and keeps the token and
// the version of a list. A body that is not JSON remains.
func (s *answers) format(body []byte) string {
	var out strings.Builder
	for decoder := json.NewDecoder(bytes.NewReader(body)); ; {
		var value map[string]any
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		if err != nil {
			return string(body)
		}
		if value["type"] == "BOOKMARK" { // sent when the server likes, or not at all
			continue
		}
		if list, ok := value["metadata"].(map[string]any); ok && value["items"] != nil {
			if token, ok := list["continue"].(string); ok {
				s.token = token
			}
			s.version, _ = list["resourceVersion"].(string)
		}
		text, err := json.Marshal(s.settled(value))
		check(s.t, err)
		out.Write(append(text, '\n'))
	}
}

// numbers matches the numbers in messages: resource versions.
var numbers = regexp.MustCompile(`\b[0-9]+\b`)

// settled returns a value with the same text in each run in place of what a server generates.
func (s *answers) settled(value any) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = s.settled(value[i])
		}
	case map[string]any:
		delete(value, "managedFields")
		for key, field := range value {
			switch text, _ := field.(string); {
			case text == "":
				value[key] = s.settled(field)
			case key == "resourceVersion":
				value[key] = "5"
			case key == "uid":
				value[key] = "u"
			case key == "continue":
				value[key] = "c"
			case key == "creationTimestamp":
				value[key] = "2026-01-01T00:00:00Z"
			case key == "message":
				value[key] = numbers.ReplaceAllString(strings.ReplaceAll(text, s.namespace, "n"), "5")
			default:
				value[key] = strings.ReplaceAll(text, s.namespace, "n")
			}
		}
		if _, delayed := value["retryAfterSeconds"]; delayed {
			value["retryAfterSeconds"] = 1
		}
	}
	return value
}
