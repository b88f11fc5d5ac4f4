package cmd

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// profileFlags ask for a profile of the program itself.
type profileFlags struct {
	name, output string
	file         *os.File // from start on, if there is a profile
}

// profiles are what can be asked for.
var profiles = []string{"none", "cpu", "heap", "goroutine", "threadcreate", "block", "mutex"}

func (f *profileFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.name, "profile", profiles[0], "Name of profile to capture. One of ("+strings.Join(profiles, "|")+")")
	flags.StringVar(&f.output, "profile-output", "profile.pprof", "Name of the file to write the profile to")
}

// start begins to profile. The file is made at once, so that it is known early if it cannot be.
func (f *profileFlags) start() (err error) {
	if !slices.Contains(profiles, f.name) {
		return fmt.Errorf("unknown profile '%s' (hint: --profile takes one of %s)", f.name, strings.Join(profiles, ", "))
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

// end ends the profile that was begun, if any, and writes it.
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

func (f *profileFlags) write() error {
	switch f.name {
	case "cpu":
		pprof.StopCPUProfile()
		return nil
	case "heap":
		runtime.GC() // what is alive counts
	}
	return pprof.Lookup(f.name).WriteTo(f.file, 0)
}
