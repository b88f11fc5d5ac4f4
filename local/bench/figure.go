package main

import "slices"

// The figures that targets are about.

func toFloor(
	_ []*Result,
	r *Result,
) (float64, bool) {
	return r.Ratios.floor(), r.Ratios.floor() > 0
}

func toPeer(_ []*Result, r *Result) (float64, bool) { return r.Ratios.peer(), r.Ratios.peer() > 0 }

func peakMemory(_ []*Result, r *Result) (float64, bool) { return r.median(memory) }

func milliseconds(_ []*Result, r *Result) (float64, bool) {
	took, known := r.median(wall)
	return took * 1000, known
}

func programSize(_ []*Result, r *Result) (float64, bool) { return r.Size, r.Size > 0 }

func requestsInAll(_ []*Result, r *Result) (float64, bool) {
	if r.Traffic == nil {
		return 0, false
	}
	return float64(r.Traffic.Requests()), true
}

// notWatches returns the number of requests that are no watches.
func notWatches(t *Traffic) int { return t.Requests() - t.Verbs["WATCH"] }

func requestsOfIdle(_ []*Result, r *Result) (float64, bool) {
	if r.Traffic == nil {
		return 0, false
	}
	return float64(notWatches(r.Traffic)), true
}

// slowest returns the most of the latencies, in milliseconds.
func slowest(_ []*Result, r *Result) (float64, bool) {
	if len(r.Latency) == 0 {
		return 0, false
	}
	return slices.Max(r.Latency), true
}

// besideTime returns the ratio of the median latency to that while no Set is stuck.
func besideTime(all []*Result, r *Result) (float64, bool) {
	i := slices.IndexFunc(all, func(other *Result) bool {
		return other.Scenario == r.Scenario && other.Step == sourceChanged && other.Objects == r.Objects
	})
	if i < 0 || len(all[i].Latency) == 0 || len(r.Latency) == 0 {
		return 0, false
	}
	return quantile(r.Latency, 0.5) / quantile(all[i].Latency, 0.5), true
}

func requestsEach(all []*Result, r *Result) (float64, bool) {
	requests, known := requestsInAll(all, r)
	return requests / float64(r.Objects), known
}

func serverToFloor(all []*Result, r *Result) (float64, bool) {
	used, known := r.median(server)
	floor, hasFloor := floorOf(all, r, server)
	if !known || !hasFloor {
		return 0, false
	}
	return used / floor, true
}

// growth returns the ratio of the time per object to that with about a thousand objects.
func growth(all []*Result, r *Result) (float64, bool) {
	few := find(all, r, func(other *Result) bool {
		return other.Where == r.Where && other.Objects >= 1000 && other.Objects <= 1001
	})
	took, known := r.median(wall)
	if few == nil || !known {
		return 0, false
	}
	before, known := few.median(wall)
	return took / float64(r.Objects) / (before / float64(few.Objects)), known && before > 0
}

func crowdedTime(all []*Result, r *Result) (float64, bool) {
	before, now, known := beside(all, r, wall)
	return now / before, known && before > 0
}

func crowdedMemory(all []*Result, r *Result) (float64, bool) {
	before, now, known := beside(all, r, memory)
	return now - before, known
}

// beside returns the medians of a field in the empty cluster and in that of the result.
func beside(
	all []*Result,
	r *Result,
	field func(Sample) float64,
) (before, now float64, known bool) {
	empty := find(
		all,
		r,
		func(other *Result) bool { return other.Where == inEmpty && other.Objects == r.Objects },
	)
	if empty == nil {
		return 0, 0, false
	}
	before, first := empty.median(field)
	now, second := r.median(field)
	return before, now, first && second
}

// find returns the result of the same step of the same tool that matches, or nil.
func find(all []*Result, r *Result, which func(*Result) bool) *Result {
	i := slices.IndexFunc(all, func(other *Result) bool {
		return other.Scenario == r.Scenario && other.Tool == r.Tool && other.Step == r.Step &&
			which(other)
	})
	if i < 0 {
		return nil
	}
	return all[i]
}

// viewShare returns how much of a core the live view takes, in per cent: the CPU time of a run with
// it without that of a run that prints nothing, of the time that the run took.
func viewShare(all []*Result, r *Result) (float64, bool) {
	unseen := find(all, r, func(other *Result) bool {
		return other.Where == shownNot && other.Objects == r.Objects
	})
	took, known := r.median(wall)
	if unseen == nil || !known || took == 0 {
		return 0, false
	}
	with, _ := r.median(cpu)
	without, known := unseen.median(cpu)
	return 100 * (with - without) / took, known
}
