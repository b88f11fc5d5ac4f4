package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/base/plaintext"
)

// maxAnnotations is the number of annotations that GitHub shows for one step.
const maxAnnotations = 10

// Annotations returns the commands with which a job on GitHub marks the manifests of objects that
// failed: one for each cause, the worst first, the last of them for all that are left. A notice
// says what became of the set after a run that failed.
func Annotations(runs []*Run, workspace string) string {
	var lines []string
	for _, r := range runs {
		for _, d := range r.Details() {
			p := d.Objects[0]
			properties := "title=" + escapeProperty(plaintext.Line(d.Title()))
			if file, line := r.place(p.Source, workspace); file != "" {
				properties = fmt.Sprintf("file=%s,line=%d,%s", escapeProperty(file), line, properties)
			}
			text := clip(clean(d.Text), maxDetailBytes)
			for _, line := range d.Log {
				text += "\n| " + plaintext.Line(line)
			}
			if d.Next != "" {
				text += "\nnext: " + plaintext.Line(d.Next)
			}
			lines = append(lines, "::error "+properties+"::"+escapeCommand(text)+"\n")
		}
		if r.Error != "" && len(r.Problems) == 0 {
			lines = append(lines, "::error title="+escapeProperty(plaintext.Line(r.Title()))+"::"+
				escapeCommand(clip(clean(r.Error), maxDetailBytes))+"\n")
		}
	}
	if more := len(lines) - maxAnnotations + 1; more > 1 {
		lines = append(lines[:maxAnnotations-1],
			fmt.Sprintf("::error title=More causes::and %d more; the log has them\n", more))
	}
	for _, r := range runs {
		if r.Recovery != nil {
			lines = append(lines, "::notice title="+escapeProperty(plaintext.Line(r.Title()))+"::"+
				escapeCommand(clip(clean(r.Recovery.String()), maxDetailBytes))+"\n")
		}
	}
	return strings.Join(lines, "")
}

// escapeCommand returns the text of a command for GitHub.
func escapeCommand(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

// escapeProperty returns the value of a property of a command for GitHub.
func escapeProperty(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapeCommand(text))
}

// Section is a fold in the log of a job.
type Section struct{ begin, end string }

// Begin and End return the lines around the section.
func (s Section) Begin() string { return s.begin }

// End returns the line after the section.
func (s Section) End() string { return s.end }

// GitHubSection returns a fold in the log of GitHub.
func GitHubSection(title string) Section {
	return Section{"::group::" + escapeCommand(plaintext.Line(title)) + "\n", "::endgroup::\n"}
}

// GitLabSection returns a fold in the log of GitLab. The name of a section is unique in a job.
func GitLabSection(name, title string, now time.Time) Section {
	return Section{
		fmt.Sprintf("\x1b[0Ksection_start:%d:%s\r\x1b[0K%s\n", now.Unix(), name, plaintext.Line(title)),
		fmt.Sprintf("\x1b[0Ksection_end:%d:%s\r\x1b[0K\n", now.Unix(), name),
	}
}

// logParts returns the log of a recorded run: a section for what was applied, and one for what was
// deleted. It has the differences of objects that change; the content of others is in the other
// reports.
func (r *Run) logParts() (titles []string, texts []string) {
	applied, removed := "", ""
	for _, o := range r.Objects {
		line := o.sign() + " " + plaintext.Line(o.Ref.String()) + " " + plaintext.Line(string(o.State))
		if o.took() > 0 {
			line += " after " + Seconds(o.took())
		}
		if reason := firstLine(o.reason()); reason != "" {
			line += ": " + reason
		}
		line += "\n"
		if !o.isCreated() && !o.removes() {
			for _, text := range o.diffLines() {
				line += "    " + text + "\n"
			}
		}
		if o.removes() {
			removed += line
		} else {
			applied += line
		}
	}
	if applied != "" {
		titles, texts = append(titles, "apply"), append(texts, applied)
	}
	if removed != "" {
		titles, texts = append(titles, "delete"), append(texts, removed)
	}
	return titles, texts
}

// causesText returns the causes of a run, and the error that ended it.
func (r *Run) causesText() string {
	text := ""
	for _, d := range r.Details() {
		text += d.block("- ")
	}
	if r.Error != "" {
		text += "error: " + plaintext.Message(clean(r.Error)) + "\n"
	}
	return text
}

func gitHubLog(runs []*Run) string {
	var b strings.Builder
	for _, r := range runs {
		titles, texts := r.logParts()
		for i, text := range texts {
			s := GitHubSection(titles[i])
			b.WriteString(s.begin + plaintext.WithoutCommands(text) + s.end)
		}
		b.WriteString(plaintext.WithoutCommands(
			plaintext.Line(r.Headline()) + "\n" + r.causesText()))
	}
	return b.String()
}

func gitLabLog(runs []*Run) string {
	var b strings.Builder
	for i, r := range runs {
		titles, texts := r.logParts()
		for k, text := range texts {
			s := GitLabSection(fmt.Sprintf("muster_%d_%d", i+1, k+1), titles[k], r.Began)
			b.WriteString(s.begin + plaintext.WithoutCommands(text) + s.end)
		}
		b.WriteString(plaintext.WithoutCommands(
			plaintext.Line(r.Headline()) + "\n" + r.causesText()))
	}
	return b.String()
}

// CodeQuality returns the causes as the code quality report of GitLab, which shows them beside the
// lines of the manifests.
func CodeQuality(runs []*Run, workspace string) ([]byte, error) {
	type lines struct {
		Begin int `json:"begin"`
	}
	type location struct {
		Path  string `json:"path"`
		Lines lines  `json:"lines"`
	}
	type issue struct {
		Description string   `json:"description"`
		Check       string   `json:"check_name"`
		Fingerprint string   `json:"fingerprint"`
		Severity    string   `json:"severity"`
		Location    location `json:"location"`
	}
	issues := []issue{}
	for _, r := range runs {
		for _, d := range r.Details() {
			p := d.Objects[0]
			file, line := r.place(p.Source, workspace)
			severity := "major"
			switch {
			case d.Conseq:
				severity = "minor"
			case d.Stuck:
				severity = "critical"
			}
			id := sha256.Sum256([]byte(strings.Join([]string{r.Set, r.Namespace, p.Ref.String(), p.Text,
				d.Text}, "\x00")))
			issues = append(issues, issue{
				Description: clip(d.Title()+": "+clean(d.Text), maxDetailBytes),
				Check:       "muster/" + strings.ReplaceAll(p.Text, " ", "-"),
				Fingerprint: fmt.Sprintf("%x", id[:16]), Severity: severity,
				Location: location{Path: cmp.Or(file, "unknown"), Lines: lines{Begin: max(line, 1)}},
			})
		}
	}
	text, err := json.MarshalIndent(issues, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the code quality report: %w", err)
	}
	return append(text, '\n'), nil
}
