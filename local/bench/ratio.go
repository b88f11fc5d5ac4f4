package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
)

// Ratios say how a wall time compares. What cannot be known is 0.
type Ratios struct {
	Floor float64 `json:"floor,omitempty"` // how many times that of the floor
	Peer  float64 `json:"peer,omitempty"`  // how many times that of the best peer
	Best  string  `json:"best,omitempty"`  // the best peer
}

// The methods of Ratios serve for those that are not there, too.

func (r *Ratios) floor() float64 {
	if r == nil {
		return 0
	}
	return r.Floor
}

func (r *Ratios) peer() float64 {
	if r == nil {
		return 0
	}
	return r.Peer
}

// name returns the best peer in brackets.
func (r *Ratios) name() string {
	if r == nil || r.Peer == 0 {
		return ""
	}
	return " (" + r.Best + ")"
}

func (*Ratios) text(ratio float64) string {
	if ratio == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", ratio)
}

// Recorded is how many times the floor's wall time a step of a tool took in measurements made
// elsewhere. It stands in for a tool that is not on the PATH.
type Recorded struct {
	Scenario string  `json:"scenario"`
	Tool     string  `json:"tool"`
	Step     string  `json:"step"`
	Floor    float64 `json:"floor"`
}

//go:embed recorded.json
var recordedJSON []byte

var recorded = mustDecode(recordedJSON)

func mustDecode(data []byte) (all []Recorded) {
	if err := json.Unmarshal(data, &all); err != nil {
		panic(fmt.Sprintf("recorded.json: %v", err))
	}
	return all
}

// absent returns a function that reports whether no tool of that name takes part.
func absent(found []tool) func(string) bool {
	return func(name string) bool {
		return !slices.ContainsFunc(found, func(t tool) bool { return t.name == name })
	}
}

// compare sets the ratios of the results of one scenario.
func compare(results []*Result, recorded []Recorded, absent func(string) bool) {
	for _, r := range results {
		took, known := r.median(wall)
		if !known || r.role == base {
			continue
		}
		ratios := Ratios{}
		floor, hasFloor := floorOf(results, r, wall)
		if hasFloor {
			ratios.Floor = took / floor
		}
		if best, name := bestPeer(results, r, recorded, absent, floor); name != "" {
			ratios.Peer, ratios.Best = took/best, name
		}
		if ratios != (Ratios{}) {
			r.Ratios = &ratios
		}
	}
}

// floorOf returns the median of a field of the floor for the work of a result. The floor only
// creates and deletes: applying again is compared with its creation.
func floorOf(results []*Result, r *Result, field func(Sample) float64) (float64, bool) {
	step := created
	if r.Step == deleted {
		step = deleted
	}
	for _, other := range results {
		if other.role == base && other.Step == step && other.sameWork(r) {
			value, known := other.median(field)
			return value, known && value > 0
		}
	}
	return 0, false
}

// bestPeer returns the least wall time of a peer for the same step, and the peer's name, which is
// empty if there is none.
func bestPeer(
	results []*Result,
	r *Result,
	recorded []Recorded,
	absent func(string) bool,
	floor float64,
) (best float64, name string) {
	offer := func(took float64, of string) {
		if took > 0 && (name == "" || took < best) {
			best, name = took, of
		}
	}
	for _, other := range results {
		if other.role != peer || other.Step != r.Step || !other.sameWork(r) {
			continue
		}
		if took, known := other.median(wall); known {
			offer(took, other.Tool)
		}
	}
	for _, known := range recorded {
		if known.Scenario == r.Scenario && known.Step == r.Step && absent(known.Tool) {
			offer(known.Floor*floor, known.Tool+", recorded")
		}
	}
	return best, name
}

// sameWork reports whether two results are of the same work.
func (r *Result) sameWork(other *Result) bool {
	return r.Scenario == other.Scenario && r.Where == other.Where && r.Objects == other.Objects
}
