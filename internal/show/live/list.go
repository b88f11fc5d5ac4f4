package live

import (
	"strings"

	"github.com/muster-deploy/muster/internal/show/fullscreen"
)

// item is an entry of the list that can be selected: the title of a section, or an object in it.
type item struct {
	section section
	step    int // of the object; -1 for the title
}

// list is the state of the list of objects: what is folded, filtered and selected.
type list struct {
	folded   [sections]bool
	problems bool   // only objects with problems are shown
	filter   string // in lower case; of names
	typing   bool   // the filter is being typed
	help     bool   // the keys are shown
	chosen   bool   // the user has moved; else the first item is selected
	selected item
	position int // of the selected item when it was last drawn
	top      int // the first line of the list on the screen
	page     int // lines of the list on the screen
}

// shows reports whether an object passes the filter.
func (l *list) shows(name string) bool {
	return l.filter == "" || strings.Contains(strings.ToLower(name), l.filter)
}

// items returns the entries of the list, and the number of objects that pass the filter in each
// section.
func (r *Run) items() (all []item, shown [sections]int) {
	var bySection [sections][]item
	for i := range r.rows {
		w := &r.rows[i]
		if w.name != "" && r.list.shows(w.name) {
			shown[w.section]++
			if !r.list.folded[w.section] || r.list.filter != "" {
				bySection[w.section] = append(bySection[w.section], item{w.section, i})
			}
		}
	}
	for s := range sections {
		if shown[s] == 0 || r.list.problems && s != failed && s != waiting {
			continue
		}
		all = append(all, item{s, -1})
		all = append(all, bySection[s]...)
	}
	return all, shown
}

// find returns the position of the selected item. An object that has moved to another section stays
// selected; if it is not shown any more, what has its place now is selected.
func (r *Run) find(all []item) int {
	l := &r.list
	if len(all) == 0 || !l.chosen {
		return 0
	}
	for i, it := range all {
		if it.step == l.selected.step && (it.step >= 0 || it.section == l.selected.section) {
			return i
		}
	}
	return min(l.position, len(all)-1)
}

// Key handles a key.
func (r *Run) Key(k fullscreen.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &r.list
	if l.typing {
		l.typed(k)
		return
	}
	help := l.help
	l.help, r.hint = k == '?' && !help, ""
	if r.log != nil {
		if !help && r.log.key(k) {
			r.closeLog()
		}
		return
	}
	all, _ := r.items()
	switch k {
	case fullscreen.Up, 'k':
		r.selectItem(all, -1)
	case fullscreen.Down, 'j':
		r.selectItem(all, 1)
	case fullscreen.PageUp, 'b':
		r.selectItem(all, -max(1, l.page-1))
	case fullscreen.PageDown, ' ':
		r.selectItem(all, max(1, l.page-1))
	case fullscreen.Home, 'g':
		r.selectItem(all, -len(all))
	case fullscreen.End, 'G':
		r.selectItem(all, len(all))
	case fullscreen.Enter, fullscreen.Right, fullscreen.Left:
		r.unfold(all, k)
	case 'l':
		r.openLog(all)
	case 'f':
		l.problems = !l.problems
	case '/':
		l.typing = true
	case fullscreen.Escape:
		if !help {
			l.filter, l.problems, l.chosen, l.top = "", false, false, 0
		}
	}
}

// typed handles a key while the filter is being typed.
func (l *list) typed(k fullscreen.Key) {
	switch {
	case k == fullscreen.Enter:
		l.typing = false
	case k == fullscreen.Escape:
		l.typing, l.filter = false, ""
	case k == fullscreen.Backspace:
		if runes := []rune(l.filter); len(runes) > 0 {
			l.filter = string(runes[:len(runes)-1])
		}
	case k >= ' ':
		l.filter += strings.ToLower(string(rune(k)))
	}
}

// selectItem moves the selection by a number of items.
func (r *Run) selectItem(all []item, by int) {
	if len(all) == 0 {
		return
	}
	i := min(max(0, r.find(all)+by), len(all)-1)
	r.list.selected, r.list.position, r.list.chosen = all[i], i, true
}

// unfold folds or unfolds the selected section, or the details of the selected object.
func (r *Run) unfold(all []item, k fullscreen.Key) {
	if len(all) == 0 {
		return
	}
	r.selectItem(all, 0)
	it := r.list.selected
	if it.step < 0 {
		r.list.folded[it.section] = k == fullscreen.Left ||
			k == fullscreen.Enter && !r.list.folded[it.section]
		return
	}
	w := &r.rows[it.step]
	if k == fullscreen.Left && !w.open {
		r.list.selected = item{it.section, -1}
		r.list.folded[it.section] = true
		return
	}
	w.open = k == fullscreen.Right || k == fullscreen.Enter && !w.open
}
