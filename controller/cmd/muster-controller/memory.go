package main

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// memoryEnv has the limit of memory of the container, in bytes: deploy sets it by the downward API.
const memoryEnv = "MEMORY_LIMIT"

// cgroupFiles are where the system says how much memory the process may have, in both versions of
// control groups.
var cgroupFiles = []string{
	"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
}

// unlimited is the memory that runs count with if nothing limits the process, in bytes.
const unlimited = 1 << 30

// mostMemory is more than any machine has: what is more is no limit.
const mostMemory = 1 << 50

// limitMemory lets the collector of garbage work harder before the process has all that its
// container may have, unless GOMEMLIMIT says otherwise. A fifth is left for what the runtime does
// not count. It returns the limit of the memory of the process, in bytes.
func limitMemory(env func(string) string, files []string) int64 {
	if env("GOMEMLIMIT") == "" {
		if limit := containerMemory(env, files); limit > 0 {
			debug.SetMemoryLimit(limit / 5 * 4)
		}
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit
	}
	return unlimited
}

// containerMemory returns the limit of memory of the container, in bytes; 0 for none.
func containerMemory(env func(string) string, files []string) int64 {
	texts := []string{env(memoryEnv)}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			texts = append(texts, string(text))
		}
	}
	for _, text := range texts {
		limit, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err == nil && limit > 0 && limit < mostMemory {
			return limit
		}
	}
	return 0
}
