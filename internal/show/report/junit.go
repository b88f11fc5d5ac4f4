package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// junit returns runs as the XML of JUnit: a suite for each run and a case for each object. An
// object that failed is a failure, with its causes; an object that the run left alone is skipped.
func junit(runs []*Run, workspace string) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n<testsuites>\n")
	for _, r := range runs {
		r.suite(&b, workspace)
	}
	b.WriteString("</testsuites>\n")
	return b.String()
}

// suite writes one run.
func (r *Run) suite(b *strings.Builder, workspace string) {
	problems := map[*Object]Problem{}
	for _, p := range r.Problems {
		problems[r.byRef[p.Ref]] = p
	}
	failures, skipped, errors := 0, 0, 0
	for _, o := range r.Objects {
		_, isProblem := problems[o]
		switch {
		case isProblem || o.Bad():
			failures++
		case o.isSkipped():
			skipped++
		}
	}
	if r.Error != "" {
		errors = 1
	}
	fmt.Fprintf(b, `<testsuite name=%s tests="%d" failures="%d" errors="%d" skipped="%d" time="%.3f"`,
		attribute(r.Title()), len(r.Objects)+errors, failures, errors, skipped, r.Elapsed)
	if !r.Began.IsZero() {
		fmt.Fprintf(b, ` timestamp=%s`, attribute(r.Began.UTC().Format(time.RFC3339)))
	}
	b.WriteString(">\n")
	if r.Recovery != nil {
		fmt.Fprintf(b, "<properties><property name=\"recovery\" value=%s/></properties>\n",
			attribute(r.Recovery.String()))
	}
	for _, o := range r.Objects {
		p, isProblem := problems[o]
		if !isProblem && o.Bad() {
			p, isProblem = Problem{Ref: o.Ref, Text: "failed", Message: o.reason()}, true
		}
		p.Source = cmp.Or(p.Source, o.Source)
		r.testCase(b, o, p, isProblem, workspace)
	}
	if errors > 0 {
		fmt.Fprintf(b, "<testcase name=%s classname=\"muster\" time=\"0\"><error message=%s>%s</error>"+
			"</testcase>\n", attribute(r.Title()), attribute(firstLine(r.Error)), xmlText(clean(r.Error)))
	}
	b.WriteString("</testsuite>\n")
}

// isSkipped reports whether the run left the object alone although it is described.
func (o *Object) isSkipped() bool {
	return o.State == Skipped || o.State == "skip" || o.State == Pending
}

// testCase writes one object. The problem is zero if the object has none.
func (r *Run) testCase(
	b *strings.Builder, o *Object, p Problem, isProblem bool, workspace string,
) {
	start := 0.0
	for _, ref := range o.Needs {
		if need := r.byRef[ref]; need != nil {
			start = max(start, need.took())
		}
	}
	fmt.Fprintf(b, "<testcase name=%s classname=%s time=\"%.3f\"", attribute(o.Ref.String()),
		attribute(strings.Trim(o.Kind+"."+o.Group, ".")), max(o.took()-start, 0))
	if file, line := r.place(p.Source, workspace); file != "" {
		fmt.Fprintf(b, " file=%s line=\"%d\"", attribute(file), line)
	}
	switch {
	case isProblem:
		one := Run{Problems: []Problem{p}}
		d := one.Details()[0]
		fmt.Fprintf(b, "><failure type=%s message=%s>%s</failure></testcase>\n",
			attribute(string(o.State)), attribute(firstLine(d.Text)), xmlText(d.block("")))
	case o.isSkipped():
		fmt.Fprintf(b, "><skipped message=%s/></testcase>\n", attribute(firstLine(o.reason())))
	default:
		b.WriteString("/>\n")
	}
}

// xmlReplacer escapes text of XML, also of attributes in double quotes.
var xmlReplacer = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// xmlText returns a text for XML, which has no form for some characters.
func xmlText(text string) string {
	return xmlReplacer.Replace(strings.Map(func(r rune) rune {
		allowed := r == '\t' || r == '\n' || r >= ' ' && r <= '\uD7FF' ||
			r >= '\uE000' && r <= '\uFFFD' || r >= '\U00010000' && r <= '\U0010FFFF'
		if !allowed {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
}

// attribute returns the value of an attribute with its quotes, on one line.
func attribute(text string) string { return `"` + xmlText(firstLine(text)) + `"` }
