package fullscreen

import "unicode/utf8"

// Key is a key: a character, or a code below 0 for another key.
type Key rune

// The keys without a character, and some with a control character.
const (
	Up Key = -1 - iota
	Down
	Left
	Right
	PageUp
	PageDown
	Home
	End
	Delete
	unknownKey

	Tab       Key = '\t'
	Enter     Key = '\r'
	Escape    Key = 0x1b
	Backspace Key = 0x7f
	Redraw    Key = 0x0c // Ctrl-L
	EndOfFile Key = 0x04 // Ctrl-D
)

// controlSequences are the keys of sequences that begin with ESC [ or ESC O.
var controlSequences = map[string]Key{
	"A": Up, "B": Down, "C": Right, "D": Left, "H": Home, "F": End,
	"1~": Home, "7~": Home, "4~": End, "8~": End, "5~": PageUp, "6~": PageDown, "3~": Delete,
}

// parseKey returns the first key of what was read, and its length; 0 if it is incomplete. Last
// means that nothing follows soon: an ESC alone is the key Escape then.
func parseKey(data []byte, last bool) (Key, int) {
	switch {
	case len(data) == 0:
		return 0, 0
	case data[0] == 0x1b:
		return parseEscape(data, last)
	case data[0] == '\n':
		return Enter, 1
	case data[0] == '\b':
		return Backspace, 1
	case !utf8.FullRune(data) && !last:
		return 0, 0
	}
	r, size := utf8.DecodeRune(data)
	return Key(r), size
}

func parseEscape(data []byte, last bool) (Key, int) {
	if len(data) == 1 {
		if last {
			return Escape, 1
		}
		return 0, 0
	}
	if data[1] != '[' && data[1] != 'O' {
		return Escape, 1
	}
	for i := 2; i < len(data); i++ {
		if c := data[i]; c >= '@' && c <= '~' {
			if k, ok := controlSequences[string(data[2:i+1])]; ok {
				return k, i + 1
			}
			return unknownKey, i + 1
		}
	}
	if last {
		return unknownKey, len(data)
	}
	return 0, 0
}
