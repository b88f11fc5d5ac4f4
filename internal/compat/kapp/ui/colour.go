package ui

// Style is how a text looks on a terminal with colour.
type Style string

// The styles, as the parameters of the escape sequences.
const (
	None  Style = ""
	Bold  Style = "1"
	Faint Style = "2"
	Red   Style = "31"
	Green Style = "32"
)

func (s Style) paint(text string) string {
	if s == None {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Colours reports whether output may be coloured. FORCE_COLOR decides by 1 or 0. Otherwise output
// is coloured on terminals that are not dumb, unless NO_COLOR is set.
func Colours(terminal bool, getenv func(string) string) bool {
	switch getenv("FORCE_COLOR") {
	case "1":
		return true
	case "0":
		return false
	}
	return terminal && getenv("TERM") != "dumb" && getenv("NO_COLOR") == ""
}

// Paint returns a text in a style, or as plain text where output has no colours. Like kapp, it
// ignores --color=false for differences and the lines of a run.
func (u *UI) Paint(style Style, text string) string {
	if !u.options.Colour {
		return text
	}
	return style.paint(text)
}
