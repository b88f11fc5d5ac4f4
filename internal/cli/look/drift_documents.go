package look

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/feature/drift"
	"github.com/muster-deploy/muster/internal/object"
)

// driftDocument is the JSON of a result.
type driftDocument struct {
	Managed  *SetStatus  `json:"managedSet,omitempty"`
	Set      string      `json:"set"`
	Against  string      `json:"against"`
	Revision int         `json:"revision,omitempty"`
	Drifted  int         `json:"drifted"` // objects
	Fields   int         `json:"fields"`
	Left     int         `json:"leftToControllers"`
	Compared int         `json:"compared"`
	Objects  []driftItem `json:"objects"`

	Accepted *AcceptedDocument `json:"accepted,omitempty"` // with --accept
}

// driftItem is the JSON of an object.
type driftItem struct {
	Group     string        `json:"group"`
	Kind      string        `json:"kind"`
	Namespace string        `json:"namespace,omitempty"`
	Name      string        `json:"name"`
	Drifted   bool          `json:"drifted"`
	Change    drift.Kind    `json:"change"`
	Source    string        `json:"source,omitempty"`
	Deleting  bool          `json:"deleting,omitempty"`
	Person    *drift.Person `json:"person,omitempty"`
	Fields    []drift.Field `json:"fields,omitempty"`
}

// newDriftItem returns the JSON of an object.
func newDriftItem(o *drift.Object) driftItem {
	return driftItem{
		Group: o.Ref.Group, Kind: o.Ref.Kind, Namespace: o.Ref.Namespace, Name: o.Ref.Name,
		Drifted: o.Counts(), Change: o.Kind, Source: o.Source, Deleting: o.Deleting, Person: o.Person,
		Fields: o.Fields,
	}
}

// json prints the result as a document, or on one line.
func (r *DriftResult) json(env *cli.Env, line bool) error {
	c := r.counts()
	document := driftDocument{
		Set: r.Baseline.Title, Against: r.Baseline.Text, Drifted: c.objects, Fields: c.fields,
		Left: c.left, Compared: len(r.Drift.Compared), Objects: []driftItem{},
		Accepted: r.Accepted,
	}
	if !line { // what the Set says is not read again
		document.Managed = NewSetStatus(r.Managed)
	}
	if r.Baseline.Revision != nil {
		document.Revision = r.Baseline.Revision.Number
	}
	for i := range r.Drift.Objects {
		document.Objects = append(document.Objects, newDriftItem(&r.Drift.Objects[i]))
	}
	if line {
		return json.NewEncoder(cli.Raw(env.Out)).Encode(document)
	}
	return cli.Encode(env.Out, cli.OutputJSON, document)
}

// testSuite is the JUnit form of a result: a test for each object.
type testSuite struct {
	XMLName  xml.Name   `xml:"testsuite"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Cases    []testCase `xml:"testcase"`
}

type testCase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *failure `xml:"failure,omitempty"`
}

type failure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// junit prints a test for each object that was compared or is not desired.
func (r *DriftResult) junit(env *cli.Env) error {
	suite := testSuite{Name: "drift of " + r.Baseline.Title}
	drifted := map[object.Ref]*drift.Object{}
	refs := r.Drift.Compared
	for i := range r.Drift.Objects {
		o := &r.Drift.Objects[i]
		drifted[o.Ref] = o
		if o.Kind == drift.Added {
			refs = append(refs, o.Ref)
		}
	}
	for _, ref := range refs {
		test := testCase{Class: suite.Name, Name: ref.String()}
		if o := drifted[ref]; o != nil && o.Counts() {
			var lines []string
			for _, f := range o.Drifted() {
				lines = append(lines, fieldLine(&f, env.Now()))
			}
			test.Failure = &failure{Message: reason(o), Text: strings.Join(lines, "\n")}
			suite.Failures++
		}
		suite.Cases = append(suite.Cases, test)
	}
	suite.Tests = len(suite.Cases)
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(cli.Raw(env.Out), "%s%s\n", xml.Header, text)
	}
	return err
}

// github prints an annotation for each field that drifted, in the form of workflow commands.
func (r *DriftResult) github(env *cli.Env) error {
	escape := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, o := range r.Drifted() {
		place := "title=" + property.Replace("drift of "+o.Ref.String())
		if file, _, _ := strings.Cut(o.Source, " "); file != "" {
			file, line, _ := strings.Cut(file, ":")
			place += ",file=" + property.Replace(file)
			if line, _, _ = strings.Cut(line, ":"); line != "" {
				place += ",line=" + property.Replace(line)
			}
		}
		lines := []string{o.Ref.String() + " " + reason(&o)}
		for _, f := range o.Drifted() {
			lines = append(lines, fieldLine(&f, env.Now()))
		}
		text := escape.Replace(strings.Join(lines, "\n"))
		if _, err := fmt.Fprintf(cli.Raw(env.Out), "::warning %s::%s\n", place, text); err != nil {
			return err
		}
	}
	return env.Print(r.summary())
}

// markdown prints a table of the fields that drifted.
func (r *DriftResult) markdown(env *cli.Env) error {
	cell := func(text string) string {
		text = plaintext.Printable(text)
		return strings.NewReplacer("|", "\\|", "<", "&lt;", "`", "'", "\n", " ").Replace(text)
	}
	lines := []string{"### Drift of " + cell(r.Baseline.Title), "", cell(r.summary())}
	if drifted := r.Drifted(); len(drifted) > 0 {
		lines = append(lines, "", "| Object | Field | Change | Manager |", "|---|---|---|---|")
		for _, o := range drifted {
			if o.Kind != drift.Changed {
				who := ""
				if o.Person != nil {
					who = personText(o.Person)
				}
				lines = append(lines, fmt.Sprintf("| `%s` | | %s | %s |", cell(o.Ref.String()),
					cell(reason(&o)), cell(who)))
			}
			for _, f := range o.Drifted() {
				lines = append(lines, fmt.Sprintf("| `%s` | `%s` | %s | %s |", cell(o.Ref.String()),
					cell(f.Path), cell(changeText(&f)), cell(whoText(&f, env.Now()))))
			}
		}
	}
	_, err := fmt.Fprintln(env.Out, strings.Join(lines, "\n"))
	return err
}
