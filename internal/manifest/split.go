package manifest

import "bytes"

// chunk is the text of one document, beginning with its marker.
type chunk struct {
	text  []byte
	start int // lines of the stream before the text
	long  int // a line of the text that is too long, counted from 1; 0: none
}

// maxLine limits the bytes of a line of YAML. Servers accept no object of this size, and the YAML
// library needs five times the memory. A document that is JSON may be one line.
const maxLine = 16 << 20

// split splits a stream at lines that start with the marker ---, so that a broken document does not
// hide later ones. It turns the directives at the start of a stream into comments, in place: the
// YAML library rejects %YAML 1.2. It removes the byte order marks of documents: the stream may be
// files that were joined.
func split(stream []byte) []chunk {
	var chunks []chunk
	stream = withoutMarks(stream)
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
		if len(text) > maxLine && from.long == 0 {
			from.long = line - from.start + 1
		}
		pos = end
	}
	from.text = stream[begin:]
	return append(chunks, from)
}

// endOfLine returns the position after the line that starts at pos.
func endOfLine(stream []byte, pos int) int {
	if n := bytes.IndexByte(stream[pos:], '\n'); n >= 0 {
		return pos + n + 1
	}
	return len(stream)
}

// isMarker reports whether a line starts a document.
func isMarker(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// isPreface reports whether a line may precede the directives of a stream: empty lines, comments
// and directives.
func isPreface(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#' || line[0] == '%'
}

// byteOrderMark may stand before each document of a stream.
const byteOrderMark = "\uFEFF"

// withoutMarks removes byte order marks before markers and before the content of documents. It
// modifies the text.
func withoutMarks(stream []byte) []byte {
	if !bytes.Contains(stream, []byte(byteOrderMark)) {
		return stream
	}
	kept, preface := stream[:0], true
	for pos := 0; pos < len(stream); {
		end := endOfLine(stream, pos)
		line := stream[pos:end]
		rest := bytes.TrimPrefix(line, []byte(byteOrderMark))
		if preface || isMarker(rest) {
			line = rest
		}
		preface = isMarker(line) || preface && isPreface(line)
		kept = append(kept, line...)
		pos = end
	}
	return kept
}

// content returns the text of a chunk after its marker, and the line on which it starts.
func (c chunk) content() (text []byte, line int) {
	text = c.text
	if isMarker(text[:endOfLine(text, 0)]) {
		text = text[len("---"):]
	}
	text = bytes.TrimLeft(text, " \t\r\n")
	return text, 1 + bytes.Count(c.text[:len(c.text)-len(text)], []byte("\n"))
}
