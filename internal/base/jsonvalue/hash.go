package jsonvalue

import "hash/maphash"

// seed makes hashes differ between processes, so that nobody can prepare values with one hash.
var seed = maphash.MakeSeed()

// Hash returns a number that is the same for values that are equal, and most probably another one
// for others. It is not the same in the next process.
func Hash(value any) uint64 {
	switch v := value.(type) {
	case map[string]any:
		sum := uint64(len(v))
		for key, inner := range v { // in any order
			sum += maphash.Comparable(seed, [2]uint64{maphash.String(seed, key), Hash(inner)})
		}
		return sum
	case []any:
		sum := uint64(len(v))
		for _, inner := range v {
			sum = maphash.Comparable(seed, [2]uint64{sum, Hash(inner)})
		}
		return sum
	case string:
		return maphash.String(seed, v)
	case bool:
		return maphash.Comparable(seed, v)
	}
	if n, ok := numberOf(value); ok {
		return maphash.Comparable(seed, n)
	}
	return 0
}
