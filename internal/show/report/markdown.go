package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/base/yamltext"
	"github.com/muster-deploy/muster/internal/diff"
)

// The limits of Markdown in bytes. GitHub drops a step summary of more than 1024 kB, and refuses
// comments of more than 65,536 characters.
const (
	SummaryLimit = 900_000
	CommentLimit = 60_000
)

// The limits of single parts.
const (
	maxDiffLines   = 200
	maxDiffLine    = 400 // bytes
	maxDetailBytes = 8_000
	maxNames       = 20 // of objects that change in the same way
)

// part is a section of a document: a list that is cut if there is no room for it.
type part struct {
	head, tail string
	items      []string
	noun       string
	share      float64 // of the room that is left; 0 is all
}

// reserve is the room for the line about what was cut.
const reserve = 120

// fit returns parts in their order, which is that of their importance, within a limit.
func fit(parts []part, limit int) string {
	for _, p := range parts {
		if len(p.items) > 0 {
			limit -= len(p.head) + len(p.tail) + reserve
		}
	}
	var b strings.Builder
	for _, p := range parts {
		if len(p.items) == 0 {
			continue
		}
		room := limit
		if p.share > 0 {
			room = int(float64(limit) * p.share)
		}
		b.WriteString(p.head)
		kept := 0
		for ; kept < len(p.items) && len(p.items[kept]) <= room; kept++ {
			b.WriteString(p.items[kept])
			room, limit = room-len(p.items[kept]), limit-len(p.items[kept])
		}
		b.WriteString(p.tail)
		if more := len(p.items) - kept; more > 0 {
			fmt.Fprintf(&b, "\n… and %d more %s\n\n", more, p.noun)
		}
	}
	return b.String()
}

// Summary returns runs as Markdown of at most limit bytes.
func Summary(runs []*Run, limit int) string {
	var parts []part
	for _, r := range runs {
		parts = append(parts, r.markdown(len(runs) == 1)...)
	}
	return fit(parts, limit)
}

// Comment returns a plan as Markdown for a comment on a change. It begins with a hidden marker that
// is the same for all plans of a set, so that a program can replace the comment before.
func Comment(r *Run) string {
	id := strings.NewReplacer("-->", "", "<", "", ">", "", "--", "-").Replace(
		plaintext.Line(strings.TrimSpace(r.Set + " " + r.Namespace)))
	marker := "<!-- muster-plan: " + strings.TrimSpace(id) + " -->\n"
	return marker + Summary([]*Run{r}, CommentLimit-len(marker))
}

// markdown returns the parts about one run. The rows of a table may not take all of the room if it
// is the only one.
func (r *Run) markdown(alone bool) []part {
	sign := "✅"
	if r.Bad() {
		sign = "❌"
	}
	if r.PlanOnly && !r.Bad() {
		sign = "📋"
	}
	head := "## " + sign + " " + escapeMarkdown(firstLine(r.Headline())) + "\n\n"
	if r.Cluster != "" {
		head += code(r.Cluster) + "\n\n"
	}
	if r.Error != "" {
		head += fence("", clip(clean(r.Error), maxDetailBytes))
	}
	parts := []part{
		{items: []string{head}},
		{head: "### Causes\n\n", items: r.detailItems(), noun: "causes"},
		{head: "### Objects\n\n| | Object | State | After | Source | Message |\n" +
			"|---|---|---|---|---|---|\n", tail: "\n", items: r.rowItems(), noun: "objects"},
		{head: "### Differences\n\n", items: r.diffItems(), noun: "differences"},
	}
	if r.PlanOnly {
		parts[2].head = "### Objects\n\n| | Object | Action | Source | Message |\n|---|---|---|---|---|\n"
	}
	if alone && len(parts[3].items) > 0 {
		parts[2].share = 0.6
	}
	return parts
}

func (r *Run) detailItems() (items []string) {
	for _, d := range r.Details() {
		item := "- " + code(d.Title())
		if source := d.Objects[0].Source; source != "" {
			item += " (" + code(source) + ")"
		}
		text := clean(d.Text)
		for _, line := range d.Log {
			text += "\n  | " + plaintext.Line(line)
		}
		item += "\n\n" + indent(fence("", clip(text, maxDetailBytes)))
		if n := len(d.Objects); n > 1 {
			names := make([]string, 0, maxNames)
			for _, p := range d.Objects[:min(n, maxNames)] {
				names = append(names, code(p.Ref.String()))
			}
			item += "  " + strings.Join(names, ", ")
			if n > maxNames {
				item += fmt.Sprintf(" and %d more", n-maxNames)
			}
			item += "\n\n"
		}
		if d.Next != "" {
			item += "  next: " + code(d.Next) + "\n\n"
		}
		items = append(items, item)
	}
	return items
}

// rowItems returns the rows of the objects that change or fail, those that fail first.
func (r *Run) rowItems() (items []string) {
	var rest []string
	for _, o := range r.Objects {
		if o.State == Unchanged || o.State == Found {
			continue
		}
		after := ""
		if !r.PlanOnly {
			after = " " + Seconds(o.took()) + " |"
		}
		row := fmt.Sprintf("| %s | %s | %s |%s %s | %s |\n", o.sign(), cell(o.Ref.String()),
			escapeMarkdown(string(o.State)), after, cell(o.Source), cell(firstLine(o.reason())))
		if o.Bad() {
			items = append(items, row)
		} else {
			rest = append(rest, row)
		}
	}
	return append(items, rest...)
}

// diffItems returns the differences, folded, equal ones once.
func (r *Run) diffItems() (items []string) {
	for _, g := range r.diffGroups() {
		o := g.objects[0]
		summary := o.sign() + " " + o.Ref.String()
		if more := len(g.objects) - 1; more > 0 {
			summary += fmt.Sprintf(" and %d more", more)
		}
		item := "<details><summary><code>" + xmlText(plaintext.Line(summary)) +
			"</code></summary>\n\n" + fence("diff", g.text())
		if len(g.objects) > 1 {
			item += "The same in:\n\n"
			for _, o := range g.objects[:min(len(g.objects), maxNames)] {
				item += "- " + code(o.Ref.String()) + "\n"
			}
			if more := len(g.objects) - maxNames; more > 0 {
				item += fmt.Sprintf("- … and %d more\n", more)
			}
			item += "\n"
		}
		items = append(items, item+"</details>\n\n")
	}
	return items
}

// diffGroup is a difference and the objects that have it.
type diffGroup struct {
	lines   []string
	objects []*Object
}

// diffGroups returns the differences: of objects that change, then of those that are deleted, then
// of those that are created.
func (r *Run) diffGroups() []diffGroup {
	var groups []diffGroup
	places := map[string]int{}
	for _, o := range r.Objects {
		lines := o.diffLines()
		if len(lines) == 0 {
			continue
		}
		key := string(o.State) + "\x00" + strings.Join(lines, "\n")
		i, known := places[key]
		if !known {
			i, places[key] = len(groups), len(groups)
			groups = append(groups, diffGroup{lines: lines})
		}
		groups[i].objects = append(groups[i].objects, o)
	}
	slices.SortStableFunc(groups, func(a, b diffGroup) int {
		return cmp.Or(order(a.objects[0].isCreated(), b.objects[0].isCreated()),
			order(a.objects[0].removes(), b.objects[0].removes()))
	})
	return groups
}

// isCreated reports whether the object did not exist before.
func (o *Object) isCreated() bool { return o.Operation == "create" }

// diffLines returns the differences of an object, a line for each value. Fields of the object that
// are added or removed as a whole, as all are of an object that is created or deleted, are YAML.
func (o *Object) diffLines() []string {
	if o.State == Kept { // the plan was to delete it
		return nil
	}
	if o.Hidden != "" {
		return []string{"# " + plaintext.Line(o.Hidden)}
	}
	var lines []string
	for _, c := range o.Changes {
		text := c.String()
		if whole := wholeField(c); whole != "" {
			text = whole
		}
		for line := range strings.Lines(text) {
			lines = append(lines, plaintext.Line(strings.TrimSuffix(line, "\n")))
		}
	}
	if o.Omitted > 0 {
		lines = append(lines, fmt.Sprintf("# %d long values are not shown", o.Omitted))
	}
	return lines
}

// wholeField returns the YAML of a field at the top of an object that is added or removed, with its
// sign before each line, and "" for other changes.
func wholeField(c diff.FieldChange) string {
	name, sign, value := strings.TrimPrefix(c.Path, "."), "+ ", c.New
	if c.Kind == diff.Removed {
		sign, value = "- ", c.Old
	}
	if c.Kind == diff.Changed || strings.ContainsAny(name, ".[") || len(name)+1 != len(c.Path) {
		return ""
	}
	text, err := yamltext.Marshal(map[string]any{name: value})
	if err != nil {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		b.WriteString(sign + clip(strings.TrimSuffix(line, "\n"), maxDiffLine) + "\n")
	}
	return b.String()
}

// text returns the lines of the difference, at most maxDiffLines. Renderers of differences colour
// lines by their first character, and know no ~.
func (g diffGroup) text() string {
	lines := g.lines
	if more := len(lines) - maxDiffLines; more > 0 {
		rest := fmt.Sprintf("# … and %d more", more)
		lines = append(append([]string{}, lines[:maxDiffLines]...), rest)
	}
	return strings.ReplaceAll("\n"+strings.Join(lines, "\n"), "\n~ ", "\n! ")[1:]
}

// escapeMarkdown returns a text of one line without what Markdown would read as its own.
func escapeMarkdown(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune("\\`*_{}[]<>|#@~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// code returns a text of one line as code, in which nothing has a meaning.
func code(text string) string {
	text = plaintext.Line(text)
	if text == "" {
		return ""
	}
	ticks := strings.Repeat("`", longestRun(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return ticks + text + ticks
}

// cell returns code in a table, where a bar ends a cell even in code.
func cell(text string) string { return strings.ReplaceAll(code(text), "|", `\|`) }

// fence returns a text as a block of code.
func fence(language, text string) string {
	ticks := strings.Repeat("`", max(longestRun(text)+1, 3))
	return ticks + language + "\n" + text + "\n" + ticks + "\n\n"
}

// longestRun returns the length of the longest sequence of backticks.
func longestRun(text string) int {
	longest, run := 0, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// indent returns a text whose lines belong to an item of a list.
func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line != "\n" {
			b.WriteString("  ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// clip returns the beginning of a text that is too long.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
