package plaintext

import "strings"

// ShellWord returns a word as a shell reads it: in single quotes if it has other characters than
// letters, digits and a few signs.
func ShellWord(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n\"'`$\\*?[]{}()<>|&;#~!") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
