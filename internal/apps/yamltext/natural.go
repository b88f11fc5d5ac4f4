package yamltext

import (
	"cmp"
	"unicode"
)

// natural compares keys as the library sorts them: letters come after all else, and numbers by their values. Both are printable
// ASCII.
func natural(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		left, right := letter(a[i]), letter(b[i])
		switch {
		case left && right:
			return cmp.Compare(a[i], b[i])
		case left:
			return 1
		case right:
			return -1
		}
		return byNumber(a, b, i)
	}
	return cmp.Compare(len(a), len(b))
}

// byNumber compares two keys by the numbers that begin where they differ first.
func byNumber(a, b string, at int) int {
	var left, right int64
	if (a[at] == '0' || b[at] == '0') && withinNumber(a, at) {
		left, right = 1, 1 // zeros count within a number
	}
	left, leftEnd := number(a, at, left)
	right, rightEnd := number(b, at, right)
	return cmp.Or(cmp.Compare(left, right), cmp.Compare(leftEnd, rightEnd), cmp.Compare(a[at], b[at]))
}

// withinNumber reports whether digits that are not all zero come right before a place.
func withinNumber(text string, at int) bool {
	for i := at - 1; i >= 0 && unicode.IsDigit(rune(text[i])); i-- {
		if text[i] != '0' {
			return true
		}
	}
	return false
}

// number reads the digits from a place on, behind what has been read, and gives the place behind them.
func number(text string, at int, value int64) (int64, int) {
	for ; at < len(text) && digit(text[at]); at++ {
		value = value*10 + int64(text[at]-'0')
	}
	return value, at
}
