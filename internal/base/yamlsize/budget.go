package yamlsize

import "fmt"

// The memory that objects may take: a part for all sources, and one in proportion to the text.
// Objects take two to four times their text, small ones more.
const (
	baseMemory    = 24 << 20
	memoryPerByte = 4
)

// The memory of values in bytes, about.
const (
	valueMemory  = 24  // a value in a list or a map
	mapMemory    = 340 // a map of up to eight entries
	entryMemory  = 40  // each further entry
	objectMemory = 700 // an object, in addition to its values
)

// Budget limits the memory of the objects of one source, which may be many texts. The zero value is
// one for a new source. It must not be used by several goroutines at once.
type Budget struct {
	text, used int64
	exceeded   bool // Err returned an error
}

// AddText adds the bytes of a text, whose objects may take memory in proportion.
func (b *Budget) AddText(bytes int) {
	if !b.exceeded {
		b.text += int64(bytes)
	}
}

// AddMap counts a map with so many entries, without its values.
func (b *Budget) AddMap(entries int) { b.used += mapMemory + entryMemory*int64(max(0, entries-8)) }

// AddScalar counts a value with a text of so many bytes: a key, or a text, number or list.
func (b *Budget) AddScalar(bytes int) { b.used += valueMemory + int64(bytes) }

// AddObject counts an object, without its values.
func (b *Budget) AddObject() { b.used += objectMemory }

// Add counts a value of an unstructured object with all values in it.
func (b *Budget) Add(value any) {
	switch v := value.(type) {
	case string:
		b.AddScalar(len(v))
	case []any:
		b.AddScalar(0)
		for _, element := range v {
			b.Add(element)
		}
	case map[string]any:
		b.AddMap(len(v))
		for key, element := range v {
			b.AddScalar(len(key))
			b.Add(element)
		}
	default:
		b.AddScalar(0)
	}
}

// Exceeded reports whether Err has returned an error: the rest of the source need not be read.
func (b *Budget) Exceeded() bool { return b.exceeded }

func (b *Budget) limit() int64 { return baseMemory + memoryPerByte*b.text }

// Err returns an error if the objects take more memory than they may.
func (b *Budget) Err() error {
	if b.exceeded = b.used > b.limit(); !b.exceeded {
		return nil
	}
	return fmt.Errorf("its objects, with those read before, need more than %d MiB of memory, the "+
		"limit for %d MiB of text; deploy them as several sets", b.limit()>>20, (b.text+1<<20-1)>>20)
}
