package live

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/show/fullscreen"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestQuestion draws plans that the user is asked about. Lines of the script are keys, "size
// COLUMNSxROWS" and "show NAME".
func TestQuestion(t *testing.T) {
	golden.Run(t, "testdata/question_*.txtar", func(
		t *testing.T, in map[string]string,
	) map[string]string {
		out := map[string]string{}
		a := newAsking(testPlan())
		columns, rows := 0, 0
		for line := range strings.Lines(in["script"]) {
			what, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch what {
			case "size":
				if _, err := fmt.Sscanf(rest, "%dx%d", &columns, &rows); err != nil {
					t.Fatal(err)
				}
			case "show":
				var text strings.Builder
				for _, line := range a.Frame(columns, rows) {
					text.WriteString(strings.TrimRight(line.Text(), " ") + "\n")
				}
				out[rest] = text.String()
			case "keys":
				a.Frame(columns, rows) // what is typed is about what is seen
				for key := range strings.FieldsSeq(rest) {
					a.Key(keyNamed(key))
				}
			}
		}
		return out
	})
}

func keyNamed(name string) fullscreen.Key {
	switch name {
	case "Down":
		return fullscreen.Down
	case "Right":
		return fullscreen.Right
	case "End":
		return fullscreen.End
	}
	return fullscreen.Key(name[0])
}

// testPlan returns a question about some changes.
func testPlan() Question {
	q := Question{
		Totals: "plan: 20 to create, 1 to configure",
		Text: `Apply package "shop" in namespace shop (context test, cluster https://127.0.0.1:6443)? ` +
			"[y/N]: ",
		Notes: []string{"These objects hold other objects or data, which would be lost:", "- shop"},
		All: func(int) string {
			return "+ all of it\n    \x1b[32m+a: 1\x1b[0m\n\x1b[31m-b: \x1b[7m2\x1b[27m\x1b[0m\n"
		},
	}
	for i := range 20 {
		q.Changes = append(q.Changes, Change{
			Sign: '+', Line: fmt.Sprintf("shop/configmap/c%02d would be created", i),
			Difference: func(int) string { return fmt.Sprintf("+ c%02d\n    +kind: ConfigMap\n", i) },
		})
	}
	q.Changes = append(q.Changes, Change{
		Sign: '~', Line: "shop/deployment.apps/web would be configured\x1b[2J",
		More: []string{"spec.replicas is left to others"},
	})
	return q
}

// TestAnswer types answers, each ended by Enter unless it ends the question itself.
func TestAnswer(t *testing.T) {
	for keys, want := range map[string]string{
		"":       "",
		"y":      "y",
		"Y":      "y",
		"yes":    "yes",
		"n":      "n",
		"no":     "no",
		"q":      "n",
		"\x1b":   "n",
		"\x04":   "n",
		"yq":     "n",
		"y\x7f":  "",
		"yesyes": "yesy", // is not yes
		"dy":     "y",
		"yd":     "y",
		"x ":     "",
		"ny":     "ny", // is not yes
		"es":     "es",
	} {
		a := newAsking(testPlan())
		a.Frame(80, 24)
		for _, k := range keys {
			a.Key(fullscreen.Key(k))
		}
		if strings.ContainsAny(keys, "q\x1b\x04") {
			select {
			case <-a.answered:
			default:
				t.Errorf("%q does not end the question", keys)
			}
		} else {
			a.Key(fullscreen.Enter)
			<-a.answered
		}
		if a.answer != want {
			t.Errorf("%q is the answer %q, want %q", keys, a.answer, want)
		}
	}
}

// TestSpans takes styles out of texts.
func TestSpans(t *testing.T) {
	line := spansOf("a \x1b[31mred \x1b[7mboth\x1b[27m red\x1b[0m b")
	got := fmt.Sprintf("%q", line)
	want := `[{"a " ""} {"red " "31"} {"both" "31;7"} {" red" "31;7;27"} {" b" ""}]`
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var texts []string
	for _, part := range wrapSpans(spansOf("\x1b[31m0123456789\x1b[0mabcdefghijklm"), 10) {
		texts = append(texts, part.Text())
	}
	if got := strings.Join(texts, "|"); got != "0123456789|abcdefghij|klm" {
		t.Errorf("wrapped: %s", got)
	}
}
