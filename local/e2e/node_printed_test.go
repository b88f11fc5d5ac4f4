package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// causeIndent begins the lines that name the causes of an object, and those with its logs.
const causeIndent = "    "

// printedLine is a line that muster printed, and when, in seconds from the start.
type printedLine struct {
	at   float64
	text string
}

type printed []printedLine

func (p printed) String() string {
	var b strings.Builder
	for _, line := range p {
		fmt.Fprintf(&b, "%6.1f  %s\n", line.at, line.text)
	}
	return b.String()
}

// first returns when a text was printed first; false if it is empty or was not printed.
func (p printed) first(text string) (float64, bool) {
	for _, line := range p {
		if text != "" && strings.Contains(line.text, text) {
			return line.at, true
		}
	}
	return 0, false
}

// causes returns the lines that name causes.
func (p printed) causes() (list printed) {
	for _, line := range p {
		if strings.HasPrefix(line.text, causeIndent) {
			list = append(list, line)
		}
	}
	return list
}

// last returns the causes that were printed together, at the end.
func (p printed) last() (list printed) {
	for i := len(p) - 1; i >= 0; i-- {
		switch isCause := strings.HasPrefix(p[i].text, causeIndent); {
		case isCause:
			list = append(list, p[i])
		case len(list) > 0:
			return list
		}
	}
	return list
}

// runTimed runs a command, and returns the lines that it printed and its exit code.
func runTimed(t *testing.T, cmd *exec.Cmd) (printed, int) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	cmd.Stdout, cmd.Stderr = writer, writer
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	var out printed
	for lines := bufio.NewScanner(reader); lines.Scan(); {
		out = append(out, printedLine{time.Since(begin).Seconds(), lines.Text()})
	}
	code, failed := 0, (*exec.ExitError)(nil)
	if err := cmd.Wait(); errors.As(err, &failed) {
		code = failed.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return append(out, printedLine{time.Since(begin).Seconds(), fmt.Sprint("exit code ", code)}), code
}

// shownTexts are the fields of the pods and events of a namespace, with the times at which the
// server showed them first.
type shownTexts struct {
	begin time.Time
	mutex sync.Mutex
	texts []printedLine
}

// watchShown watches the pods and events of a namespace until the test ends.
func watchShown(t *testing.T, kubeconfig, namespace string) *shownTexts {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	check(t, err)
	client, err := dynamic.NewForConfig(config)
	check(t, err)
	s := &shownTexts{begin: time.Now()}
	for _, resource := range []string{"pods", "events"} {
		resources := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource})
		before, err := resources.Namespace(namespace).List(t.Context(), metav1.ListOptions{})
		check(t, err)
		watched, err := resources.Namespace(namespace).Watch(t.Context(),
			metav1.ListOptions{ResourceVersion: before.GetResourceVersion()})
		check(t, err)
		// Ends with the watch, which ends with the test.
		go func() {
			for e := range watched.ResultChan() {
				if obj, ok := e.Object.(*unstructured.Unstructured); ok {
					s.add(flat("", obj.Object))
				}
			}
		}()
	}
	return s
}

func (s *shownTexts) add(text string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.texts = append(s.texts, printedLine{time.Since(s.begin).Seconds(), text})
}

// first returns when a text was shown first; false if it is empty or was not shown.
func (s *shownTexts) first(text string) (float64, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return printed(s.texts).first(text)
}

// flat returns the fields of a value, one a line, such as "state.terminated.exitCode: 1".
func flat(path string, value any) string {
	var b strings.Builder
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			b.WriteString(flat(path+"."+key, field))
		}
	case []any:
		for _, item := range value {
			b.WriteString(flat(path, item))
		}
	default:
		fmt.Fprintf(&b, "%s: %v\n", path, value)
	}
	return b.String()
}
