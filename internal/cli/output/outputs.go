package output

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/show/report"
	"github.com/muster-deploy/muster/internal/show/view"
)

// Outputs are the readers of a command. It prints one run to them, or also the rollback that
// follows. End or Print ends them.
type Outputs struct {
	env    *cli.Env
	stdout string
	files  []*target
	runs   *report.Reader // collects the runs for reports; nil before the first
	failed []error        // of the standard output
}

// target is a reader with its file.
type target struct {
	Reader
	*file
	failed error // why the file is not whole
}

// Open begins the files of readers. If one cannot be written, none is left.
func Open(env *cli.Env, readers []Reader) (*Outputs, error) {
	o := &Outputs{env: env, stdout: readers[0].Kind}
	for _, r := range readers[1:] {
		f, err := create(r.Path)
		if err != nil {
			o.Discard()
			return nil, fmt.Errorf("--output %s=%s: %w; nothing was changed", r.Kind, r.Path, err)
		}
		o.files = append(o.files, &target{Reader: r, file: f})
	}
	return o, nil
}

// Stdout returns the kind of the reader on the standard output.
func (o *Outputs) Stdout() string { return o.stdout }

// Text reports whether the standard output is for people who follow the run.
func (o *Outputs) Text() bool {
	switch o.stdout {
	case Lines, Table, GitHub, GitLab, Live:
		return true
	default:
		return false
	}
}

// Discard removes the files of a run that did not begin. It does nothing after End.
func (o *Outputs) Discard() {
	for _, t := range o.files {
		t.discard()
	}
}

// Print calls print for each reader of what is no run, and puts the files in their places.
func (o *Outputs) Print(print func(r Reader, out io.Writer) error) error {
	defer o.Discard()
	if err := print(Reader{Kind: o.stdout}, o.env.Out); err != nil {
		return err
	}
	for _, t := range o.files {
		if err := print(t.Reader, t.file); err != nil {
			return err
		}
		if err := t.commit(); err != nil {
			return t.unwritten(err)
		}
	}
	return nil
}

// unwritten returns the error of a file that was not written.
func (t *target) unwritten(err error) error {
	return fmt.Errorf("write the output %s=%s: %w", t.Kind, t.Path, err)
}

// Render writes a report on recorded runs, or on a plan, for a reader. Of a plan the lines of the
// log are written before.
func Render(env *cli.Env, r Reader, out io.Writer, runs []*report.Run) error {
	each := &rendering{kind: r.Kind, out: out, job: r.Path == ""}
	return each.render(env, runs)
}

// Forms are how a command prints a run.
type Forms struct {
	// Form returns how lines, tables and JSON are printed to a writer.
	Form func(out io.Writer) view.RunForm
	// Live returns the printer of Live; nil if there is none.
	Live func(*plan.Plan, view.RunOptions) view.Printer
}

// Printer returns the printer for the run of a plan to all readers. show is how the run is printed
// on the standard output. The errors of the printer are those of End, which writes the reports.
func (o *Outputs) Printer(p *plan.Plan, show view.RunOptions, forms Forms) view.Printer {
	all := &fanOut{outputs: o}
	if printer := o.stdoutPrinter(p, show, forms); printer != nil {
		all.printers = append(all.printers, targetPrinter{printer, nil})
	}
	reports := isReport(o.stdout)
	for _, t := range o.files {
		if reports = reports || isReport(t.Kind); !isReport(t.Kind) {
			printer := plainTo(t.file, t.Kind, p, show, forms)
			all.printers = append(all.printers, targetPrinter{printer, t})
		}
	}
	if reports {
		if o.runs == nil {
			o.runs = &report.Reader{}
		}
		all.printers = append(all.printers, targetPrinter{plainTo(o.runs, JSON, p, show, forms), nil})
	}
	return all
}

// isReport reports whether a kind is written at the end of a run.
func isReport(kind string) bool {
	switch kind {
	case JUnit, HTML, Markdown, GitHub, GitLab:
		return true
	default:
		return false
	}
}

// Recovery prints to all readers what follows the run that was printed and has failed.
func (o *Outputs) Recovery(r view.Recovery) {
	lines := func(out io.Writer) error { return view.JSONLines{Out: out, Now: o.env.Now}.Recover(r) }
	if o.stdout == JSON {
		o.fail(nil, lines(o.env.Out))
	}
	if o.runs != nil {
		o.fail(nil, lines(o.runs))
	}
	for _, t := range o.files {
		switch t.Kind {
		case JSON:
			o.fail(t, lines(t.file))
		case Lines, Table:
			_, err := fmt.Fprintln(t.file, r)
			o.fail(t, err)
		}
	}
}

// fail keeps the error of a file, or of the standard output if there is none, for End.
func (o *Outputs) fail(t *target, err error) {
	switch {
	case t == nil && err != nil:
		o.failed = append(o.failed, err)
	case t != nil:
		t.failed = errors.Join(t.failed, err)
	}
}

// End writes the reports and puts the files in their places. One that could not be written is left
// as it was before, and is an error.
func (o *Outputs) End() error {
	defer o.Discard()
	runs := []*report.Run{}
	if o.runs != nil {
		runs = o.runs.Runs()
	}
	if isReport(o.stdout) {
		job := o.stdout == GitHub || o.stdout == GitLab
		r := rendering{kind: o.stdout, out: cli.Raw(o.env.Out), job: job}
		o.fail(nil, r.render(o.env, runs))
	}
	errs := slices.DeleteFunc(o.failed, cli.IsBrokenPipe) // nobody reads it any more
	for _, t := range o.files {
		if t.failed == nil && isReport(t.Kind) {
			t.failed = (&rendering{kind: t.Kind, out: t.file}).render(o.env, runs)
		}
		if t.failed == nil {
			t.failed = t.commit()
		}
		if t.failed != nil {
			errs = append(errs, t.unwritten(t.failed))
		}
	}
	return errors.Join(errs...)
}

// Writer returns the standard output for what is printed during the run. Its printer looks for
// commands to a job itself, if it prints such commands or what programs read.
func (o *Outputs) Writer(env *cli.Env) io.Writer {
	switch o.stdout {
	case GitHub, GitLab, JSON:
		return cli.Raw(env.Out)
	}
	return env.Out
}

// stdoutPrinter returns the printer of what is printed during the run, or nil.
func (o *Outputs) stdoutPrinter(p *plan.Plan, show view.RunOptions, forms Forms) view.Printer {
	switch o.stdout {
	case JUnit, HTML, Markdown, Quiet:
		return nil
	case GitHub, GitLab:
		raw := cli.Raw(show.Out)
		lines := &plaintext.LogWriter{Out: raw}
		return &sections{
			Printer: plainTo(lines, Lines, p, show, forms), out: raw, plan: p, kind: o.stdout,
			now: show.Now,
		}
	case JSON:
		show.Out = cli.Raw(show.Out)
	case Live:
		if forms.Live != nil {
			return forms.Live(p, show)
		}
	}
	return plainPrinter(p, show, o.stdout)
}

// plainTo returns a printer of lines, a table or JSON to a writer that is no terminal.
func plainTo(
	out io.Writer, kind string, p *plan.Plan, show view.RunOptions, forms Forms,
) view.Printer {
	show.RunForm, show.Out, show.Terminal = forms.Form(out), out, view.Terminal{}
	return plainPrinter(p, show, kind)
}

func plainPrinter(p *plan.Plan, show view.RunOptions, kind string) view.Printer {
	show.Output = view.OutputText
	if kind == Table || kind == JSON {
		show.Output = kind
	}
	return show.Printer(p)
}

// fanOut passes a run to many printers.
type fanOut struct {
	outputs  *Outputs
	printers []targetPrinter
}

// targetPrinter is a printer with its file; nil is none.
type targetPrinter struct {
	view.Printer
	target *target
}

// Event passes one event on.
func (f *fanOut) Event(e event.Event) {
	for _, p := range f.printers {
		p.Event(e)
	}
}

// Close ends all printers. Their errors are those of Outputs.End: they are no result of the run.
func (f *fanOut) Close(failed error) error {
	for _, p := range f.printers {
		f.outputs.fail(p.target, p.Close(failed))
	}
	return nil
}

// rendering is a report on runs that is written at their end.
type rendering struct {
	kind string
	out  io.Writer
	job  bool // the lines of the run are in the log already
}

// render writes one report. GitHub and GitLab as the reader of a job have the lines of the run
// before; with a file they are what the service takes as a file.
func (r *rendering) render(env *cli.Env, runs []*report.Run) error {
	workspace := env.Getenv("GITHUB_WORKSPACE")
	switch {
	case r.kind == GitHub && r.job:
		_, err := io.WriteString(r.out, report.Annotations(runs, workspace))
		return errors.Join(err, appendSummary(env, runs))
	case r.kind == GitLab && r.job:
		return nil
	}
	return RenderFile(env, r.kind, r.out, runs)
}

// RenderFile writes a report as a file: of GitHub the step summary, of GitLab the code quality
// report, and of every other kind what is printed too.
func RenderFile(env *cli.Env, kind string, out io.Writer, runs []*report.Run) error {
	switch kind {
	case GitHub:
		return report.Render(out, report.Markdown, runs, "")
	case GitLab:
		text, err := report.CodeQuality(runs, env.Getenv("CI_PROJECT_DIR"))
		if err == nil {
			_, err = out.Write(text)
		}
		return err
	default:
		return report.Render(out, report.Format(kind), runs, env.Getenv("GITHUB_WORKSPACE"))
	}
}

// summaryVariable has the name of the file with the summary of a step on GitHub.
const summaryVariable = "GITHUB_STEP_SUMMARY"

// appendSummary appends the summary of runs to that of the step. GitHub shows none that is larger
// than it allows; what other commands of the step wrote counts too.
func appendSummary(env *cli.Env, runs []*report.Run) error {
	path := env.Getenv(summaryVariable)
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("write $%s: %w", summaryVariable, err)
	}
	limit := report.SummaryLimit
	if info, err := f.Stat(); err == nil {
		limit -= int(min(info.Size(), report.SummaryLimit))
	}
	_, err = f.WriteString(report.Summary(runs, limit))
	return errors.Join(err, f.Close())
}
