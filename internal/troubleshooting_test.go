package internal

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// joint matches what is between two parts of a text in the source.
var joint = regexp.MustCompile(`["` + "`" + `]\s*\+\s+["` + "`" + `]`)

// printed matches a message in the first column of a table.
var printed = regexp.MustCompile("`([^`]+)`")

// TestTroubleshooting checks that the messages in docs/troubleshooting.md are in the source. A
// message is compared by the parts between its values.
func TestTroubleshooting(t *testing.T) {
	source := sourceTexts(t)
	doc, err := os.ReadFile("../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(doc)) {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| `") || len(cells) != 3 {
			continue
		}
		rows++
		for _, message := range printed.FindAllStringSubmatch(cells[0], -1) {
			for part := range strings.SplitSeq(message[1], "…") {
				if part = strings.Trim(part, ` "'();:,`); !strings.Contains(source, part) {
					t.Errorf("no message has the text %q", part)
				}
			}
		}
	}
	if rows == 0 {
		t.Error("docs/troubleshooting.md has no rows")
	}
}

// sourceTexts returns the source of the program with each text on one line.
func sourceTexts(t *testing.T) string {
	out, err := exec.Command("git", "ls-files", "--", "*.go", ":!*_test.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range strings.Fields(string(out)) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return strings.ReplaceAll(joint.ReplaceAllString(all.String(), ""), `\"`, `"`)
}
