package ui

// Style is how a text looks on a terminal with colour.
type Style string

// The styles, as the parameters of the escape sequences.
const (
	None  Style = ""
	Bold  Style = "1"
	Faint Style = "2"
	Red   Style = "31"
)

func (s Style) paint(text string) string {
	if s == None {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Colours tells whether output may be coloured: FORCE_COLOR says so by 1 and 0; else it is on terminals that are not dumb, where
// NO_COLOR is not set.
func Colours(terminal bool, getenv func(string) string) bool {
	switch getenv("FORCE_COLOR") {
	case "1":
		return true
	case "0":
		return false
	}
	return terminal && getenv("TERM") != "dumb" && getenv("NO_COLOR") == ""
}

// Paint gives a text its style where output may be coloured. Differences and the lines of a run are painted even with
// --color=false, as kapp does.
func (u *UI) Paint(style Style, text string) string {
	if !u.options.Colour {
		return text
	}
	return style.paint(text)
}
