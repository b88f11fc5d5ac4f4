package plaintext

import "strings"

// asciiSigns are the signs of the program's own texts, and how they are written in ASCII.
var asciiSigns = strings.NewReplacer(
	"…", "...", "→", "->", "×", "x", "│", "|", "├", "|", "└", "`", "─", "-",
)

// ASCII returns a text for a terminal whose locale is not UTF-8: arrows, ellipses and the lines of
// trees are written in ASCII. Other characters, which come from users, stay.
func ASCII(text string) string { return asciiSigns.Replace(text) }
