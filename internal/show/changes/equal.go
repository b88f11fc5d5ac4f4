package changes

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
)

// minEqual is the number of objects from which equal changes are printed once. The names of
// maxNames of them are printed, and maxFields fields stand in one line.
const minEqual, maxNames, maxFields = 3, 6, 2

// group is several objects that change in the same way.
type group struct {
	sign   byte
	verb   string
	fields []diff.FieldChange
	refs   []object.Ref
}

// equalChanges returns the groups of at least minEqual objects whose fields change in the same way,
// by object. Objects with an explanation of their own, with values of Secrets, or with a change
// without fields belong to none.
func equalChanges(changes []Change) map[object.Ref]*group {
	groups := map[string]*group{}
	for _, c := range changes {
		if c.Before == nil || c.After == nil || len(c.More) > 0 ||
			object.IsSecret(c.Before) || object.IsSecret(c.After) {
			continue
		}
		fields := diff.Between(c.Before, c.After, diff.Options{})
		if len(fields) == 0 {
			continue
		}
		for i := range fields {
			fields[i].Path = itemName.ReplaceAllString(fields[i].Path, "[*]")
		}
		data, err := json.Marshal(fields)
		if err != nil {
			continue // it is printed by itself
		}
		key := string(c.Sign) + c.Verb + "\n" + string(data)
		if groups[key] == nil {
			groups[key] = &group{sign: c.Sign, verb: c.Verb, fields: fields}
		}
		groups[key].refs = append(groups[key].refs, c.Ref)
	}
	byRef := map[object.Ref]*group{}
	for _, g := range groups {
		for _, ref := range g.refs {
			if len(g.refs) >= minEqual {
				byRef[ref] = g
			}
		}
	}
	return byRef
}

// itemName matches the name of an item of a list in a path: containers that have the names of their
// workloads change alike.
var itemName = regexp.MustCompile(`\[name=("(\\.|[^"\\])*"|[^\]]*)\]`)

// group prints the change of several objects.
func (p *printer) group(g *group) {
	phrases := make([]string, len(g.fields))
	for i, f := range g.fields {
		phrases[i] = plaintext.Printable(phrase(f))
	}
	what := strings.Join(phrases, ", ")
	if len(phrases) > maxFields {
		what = fmt.Sprintf("%d fields", len(phrases))
	}
	p.line("", g.sign, fmt.Sprintf("%c %s in %s", g.sign, what, countObjects(g.refs)))
	if len(phrases) > maxFields {
		for _, text := range phrases {
			p.line(indent, g.sign, text)
		}
	}
	shown := g.refs
	if len(shown) > maxNames+1 { // a line for one more name is as long as that name
		shown = shown[:maxNames]
	}
	names := make([]string, len(shown))
	for i, ref := range shown {
		names[i] = ref.String()
	}
	for i, line := range p.wrap(names) {
		if i == 0 && g.verb != "" {
			p.line(indent, 0, plaintext.Printable(g.verb)+":")
		}
		p.line(indent+"  ", 0, plaintext.Printable(line))
	}
	if rest := len(g.refs) - len(names); rest > 0 {
		p.line(indent+"  ", 0, fmt.Sprintf("... %d more objects%s", rest, p.hint()))
	}
}

// lineWidth is the width of lists of names where a terminal does not have a smaller one.
const lineWidth = 96

// wrap returns names as lines that fit into the window.
func (p *printer) wrap(names []string) []string {
	width := lineWidth
	if p.terminal.Width > 0 {
		width = min(width, p.terminal.Width-len(indent)-2)
	}
	var lines []string
	for i, name := range names {
		if i < len(names)-1 {
			name += ","
		}
		last := len(lines) - 1
		if last >= 0 && len(lines[last])+1+len(name) <= width {
			lines[last] += " " + name
		} else {
			lines = append(lines, name)
		}
	}
	return lines
}

// countObjects returns the number of objects with their kind if they have the same.
func countObjects(refs []object.Ref) string {
	for _, ref := range refs {
		if ref.GroupKind() != refs[0].GroupKind() {
			return fmt.Sprintf("%d objects", len(refs))
		}
	}
	return fmt.Sprintf("%d %s", len(refs), plural(strings.ToLower(refs[0].Kind)))
}

// plural returns the plural of the name of a kind.
func plural(kind string) string {
	switch {
	case strings.HasSuffix(kind, "s"), strings.HasSuffix(kind, "x"), strings.HasSuffix(kind, "ch"):
		return kind + "es"
	case strings.HasSuffix(kind, "y") && !strings.HasSuffix(kind, "ay"):
		return strings.TrimSuffix(kind, "y") + "ies"
	default:
		return kind + "s"
	}
}

// phrase returns the change of a field in a few words: image app:1.4 → app:1.5.
func phrase(c diff.FieldChange) string {
	name := fieldName(c.Path)
	switch c.Kind {
	case diff.Added:
		return name + " " + short(c.New) + " added"
	case diff.Removed:
		return name + " removed"
	default:
		return name + " " + short(c.Old) + " → " + short(c.New)
	}
}

// namedFields are the fields that have a short name, by the end of their path.
var namedFields = []struct {
	path *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`^\.metadata\.labels(?:\.|\[")(.*?)(?:"\])?$`), "label $1"},
	{regexp.MustCompile(`^\.metadata\.annotations(?:\.|\[")(.*?)(?:"\])?$`), "annotation $1"},
	{regexp.MustCompile(`\.template\.metadata\.labels(?:\.|\[")(.*?)(?:"\])?$`), "pod label $1"},
	{regexp.MustCompile(`\.template\.metadata\.annotations(?:\.|\[")(.*?)(?:"\])?$`),
		"pod annotation $1"},
	{regexp.MustCompile(`\.(?:containers|initContainers)\[\*\]\.image$`), "image"},
	{regexp.MustCompile(`^\.spec\.replicas$`), "replicas"},
}

// fieldName returns what people call the field with a path.
func fieldName(path string) string {
	for _, f := range namedFields {
		if match := f.path.FindStringSubmatchIndex(path); match != nil {
			return string(f.path.ExpandString(nil, f.name, path, match))
		}
	}
	return strings.TrimPrefix(path, ".")
}

// maxValue is the length from which values are shortened.
const maxValue = 48

// short returns a value as text, shortened at the end.
func short(value any) string {
	text, ok := value.(string)
	if !ok || text == "" || strings.ContainsAny(text, "\n") {
		data, err := json.Marshal(value)
		if err != nil {
			return fmt.Sprint(value)
		}
		text = string(data)
	}
	if runes := []rune(text); len(runes) > maxValue {
		return string(runes[:maxValue-1]) + "…"
	}
	return text
}
