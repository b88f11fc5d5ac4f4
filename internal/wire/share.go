package wire

// shared is a text that was met before, and the same as a value.
type shared struct {
	text  string
	value any
}

// short is how long texts may be of which it pays to look whether they were met before.
const short = 40

// share gives a text as a string and as a value: the same as last time where it was met a moment ago, as keys, kinds, namespaces
// and labels mostly were.
func (p *parser) share(text []byte) (string, any) {
	if len(text) > short {
		s := string(text)
		return s, s
	}
	hash := uint32(2166136261)
	for _, c := range text {
		hash = (hash ^ uint32(c)) * 16777619
	}
	known := &p.texts[(hash^hash>>15)%uint32(len(p.texts))]
	if known.text != string(text) || known.value == nil {
		known.text = string(text)
		known.value = known.text
	}
	return known.text, known.value
}
