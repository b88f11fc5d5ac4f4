package kapp

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// profileFlags are the flags for a profile of the program itself.
type profileFlags struct {
	name, output string
	file         *os.File // nil without a profile, and before start
}

// profiles are the values of --profile.
var profiles = []string{"none", "cpu", "heap", "goroutine", "threadcreate", "block", "mutex"}

func (f *profileFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.name, "profile", profiles[0],
		"Name of profile to capture. One of ("+strings.Join(profiles, "|")+")")
	flags.StringVar(&f.output, "profile-output", "profile.pprof",
		"Name of the file to write the profile to")
}

// start starts the profile. It creates the file at once, to report an error early.
func (f *profileFlags) start() (err error) {
	if !slices.Contains(profiles, f.name) {
		return fmt.Errorf("unknown profile '%s' (hint: --profile takes one of %s)", f.name,
			strings.Join(profiles, ", "))
	}
	if f.name == profiles[0] {
		return nil
	}
	if f.file, err = os.Create(f.output); err != nil {
		return fmt.Errorf("Creating profile: %w", err)
	}
	switch f.name {
	case "cpu":
		if err := pprof.StartCPUProfile(f.file); err != nil {
			return fmt.Errorf("Starting profile: %w", err)
		}
	case "block":
		runtime.SetBlockProfileRate(1)
	case "mutex":
		runtime.SetMutexProfileFraction(1)
	}
	return nil
}

// end stops the profile, if there is one, and writes it.
func (f *profileFlags) end() error {
	if f.file == nil {
		return nil
	}
	err := f.write()
	if closed := f.file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("Writing profile: %w", err)
	}
	return nil
}

// write writes the profile to its file.
func (f *profileFlags) write() error {
	switch f.name {
	case "cpu":
		pprof.StopCPUProfile()
		return nil
	case "heap":
		runtime.GC() // only live objects count
	}
	return pprof.Lookup(f.name).WriteTo(f.file, 0)
}
