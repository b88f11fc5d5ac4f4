package report

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/manifest"
)

// Format is the form of a report.
type Format string

// The formats.
const (
	JUnit    Format = "junit"
	HTML     Format = "html"
	Markdown Format = "markdown"
	Table    Format = "table"
	GitHub   Format = "github"
	GitLab   Format = "gitlab"
)

// Formats are all formats in the order of the help.
var Formats = []Format{HTML, JUnit, Markdown, Table, GitHub, GitLab}

// Render writes a report on runs. Workspace is the folder that files in annotations are relative
// to, "" for the working folder.
func Render(out io.Writer, format Format, runs []*Run, workspace string) error {
	var text string
	switch format {
	case JUnit:
		text = junit(runs, workspace)
	case HTML:
		text = page(runs)
	case Markdown:
		text = Summary(runs, SummaryLimit)
	case GitHub:
		text = gitHubLog(runs) + Annotations(runs, workspace)
	case GitLab:
		text = gitLabLog(runs)
	default:
		text = table(runs)
	}
	if _, err := io.WriteString(out, text); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// maxLines is the number of lines of a message that reports have.
const maxLines = 200

// clean returns a text without control characters, with lines of moderate length and number.
func clean(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if more := len(lines) - maxLines; more > 0 {
		lines = append(lines[:maxLines], fmt.Sprintf("… and %d more lines", more))
	}
	for i := range lines {
		lines[i] = plaintext.Line(strings.ReplaceAll(lines[i], "\t", "    "))
	}
	return strings.Join(lines, "\n")
}

// firstLine returns the first line of a text, without control characters.
func firstLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return plaintext.Line(strings.ReplaceAll(first, "\t", " "))
}

// numbered matches a source with a line.
var numbered = regexp.MustCompile(`^(.+):(\d+)$`)

// place returns the file and the line of a source, the file relative to the workspace if it is in
// it. Both are zero for what is no file, as the sources of a revision.
func (r *Run) place(source, workspace string) (file string, line int) {
	if source == "" || r.Restores > 0 || strings.Contains(source, "://") ||
		strings.HasPrefix(source, "-") {
		return "", 0
	}
	file, line = source, 1
	if manifest.BuilderOf(source) != "" {
		file = manifest.FileOf(source) // a line of the output is none of the file
	} else if match := numbered.FindStringSubmatch(source); match != nil {
		file = match[1]
		line, _ = strconv.Atoi(match[2]) // digits that are too many are no line
	}
	if strings.ContainsAny(file, "\n\x00") || strings.HasPrefix(file, "standard input") {
		return "", 0
	}
	if folder := r.Folder; folder != "" && !filepath.IsAbs(file) && !within(folder, file) {
		file = filepath.Join(folder, file)
	}
	full, err := filepath.Abs(file)
	base, failed := filepath.Abs(cmp.Or(workspace, "."))
	if err == nil && failed == nil {
		if relative, err := filepath.Rel(base, full); err == nil && filepath.IsLocal(relative) {
			file = relative
		}
	}
	return filepath.ToSlash(file), max(line, 1)
}

// within reports whether the path of a file begins with a folder already.
func within(folder, file string) bool {
	folder = filepath.Clean(folder)
	return folder == "." || strings.HasPrefix(filepath.Clean(file), folder+string(os.PathSeparator))
}

// sign returns the character before an object: what changes, fails or stays.
func (o *Object) sign() string {
	switch o.State {
	case Created, ToCreate:
		return "+"
	case Configured, ToConfigure, ToRecreate:
		return "~"
	case Deleted, ToPrune:
		return "-"
	case StateFailed, TimedOut, Unfinished, ToFail:
		return "!"
	default:
		return "="
	}
}

// took returns the time from the beginning of the run until the object was done.
func (o *Object) took() float64 { return max(o.Settled, o.Written) }

// reason returns why an object has its state: its error, or its message.
func (o *Object) reason() string { return cmp.Or(o.Error, o.Message) }

// resource returns the kind and the name of an object.
func (o *Object) resource() string {
	return plaintext.Line(o.Kind + "/" + o.Name)
}

// table returns a row for each object.
func table(runs []*Run) string {
	var b strings.Builder
	for i, r := range runs {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintln(&b, plaintext.Line(r.Headline()))
		var lines strings.Builder
		rows := tabwriter.NewWriter(&lines, 0, 0, 2, ' ', 0)
		fmt.Fprintln(rows, "NAMESPACE\tRESOURCE\tSTATE\tAFTER\tMESSAGE")
		for _, o := range r.Objects {
			fmt.Fprintf(rows, "%s\t%s\t%s\t%s\t%s\n", plaintext.Line(o.Namespace), o.resource(),
				plaintext.Line(string(o.State)), Seconds(o.took()), firstLine(o.reason()))
		}
		_ = rows.Flush() // a strings.Builder takes everything
		for line := range strings.Lines(lines.String()) {
			b.WriteString(strings.TrimRight(line, " \n") + "\n")
		}
		for _, d := range r.Details() {
			b.WriteString(d.block("- "))
		}
		if r.Error != "" {
			fmt.Fprintln(&b, "error: "+plaintext.Message(clean(r.Error)))
		}
	}
	return b.String()
}

// block returns a detail as lines: what failed, the reason, the log and the next command.
func (d Detail) block(sign string) string {
	var b strings.Builder
	b.WriteString(sign + plaintext.Line(d.Title()))
	if source := d.Objects[0].Source; source != "" {
		b.WriteString(" (" + plaintext.Line(source) + ")")
	}
	b.WriteString("\n")
	for line := range strings.Lines(clean(d.Text)) {
		b.WriteString("    " + strings.TrimSuffix(line, "\n") + "\n")
	}
	for _, line := range d.Log {
		b.WriteString("      | " + plaintext.Line(line) + "\n")
	}
	if d.Next != "" {
		b.WriteString("    next: " + plaintext.Line(d.Next) + "\n")
	}
	return b.String()
}
