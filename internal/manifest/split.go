package manifest

import "bytes"

// chunk is the text of one document, from its marker on.
type chunk struct {
	text  []byte
	start int // lines of the stream before the text
}

// split cuts a stream where a line starts with the marker ---. Cutting first and parsing then keeps a broken document
// from hiding the ones behind it. The directives at the start of a stream are made comments, in place: the YAML library
// takes %YAML 1.2 for an error.
func split(stream []byte) []chunk {
	var chunks []chunk
	from := chunk{}
	begin, preface := 0, true
	for pos, line := 0, 0; pos < len(stream); line++ {
		end := endOfLine(stream, pos)
		text := stream[pos:end]
		if preface {
			preface = isPreface(text)
			if text[0] == '%' {
				text[0] = '#'
			}
		}
		if pos > begin && isMarker(text) {
			from.text = stream[begin:pos]
			chunks = append(chunks, from)
			begin, from = pos, chunk{start: line}
		}
		pos = end
	}
	from.text = stream[begin:]
	return append(chunks, from)
}

// endOfLine gives the position behind the line that starts at a position.
func endOfLine(stream []byte, pos int) int {
	if n := bytes.IndexByte(stream[pos:], '\n'); n >= 0 {
		return pos + n + 1
	}
	return len(stream)
}

// isMarker says whether a line starts a document.
func isMarker(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// isPreface says whether a line may stand before the directives of a stream: it is empty, a comment or a directive.
func isPreface(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#' || line[0] == '%'
}
