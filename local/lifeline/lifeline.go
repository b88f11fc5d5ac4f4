// Package lifeline ties a process to the life of another.
//
// The holder keeps the writing end of a pipe open and hands the reading end to its children. When
// the holder ends, in whatever way (also by SIGKILL), the kernel closes the pipe and every child
// ends itself. A child without a pipe lives until it is stopped.
package lifeline

import (
	"io"
	"os"
	"syscall"
)

// FD is the number of the file descriptor on which a child finds its lifeline: the first of
// exec.Cmd.ExtraFiles.
const FD = 3

// Env is the environment variable, set to "1", for a child whose lifeline is FD.
const Env = "MUSTER_LOCAL_LIFELINE"

// Follow ends this process with exit code 1 once the holder of the lifeline is gone. It returns at
// once, and does nothing in a process that was started without a lifeline.
func Follow() {
	ended := Ended()
	if ended == nil {
		return
	}
	// Nobody waits for this goroutine: it lives as long as the process.
	go func() {
		<-ended
		os.Exit(1)
	}()
}

// Ended returns a channel that is closed once the holder of the lifeline is gone, or nil in a
// process that was started without a lifeline. It is called once in a process, whose children do
// not inherit the lifeline.
func Ended() <-chan struct{} {
	if os.Getenv(Env) != "1" {
		return nil
	}
	syscall.CloseOnExec(FD)
	os.Unsetenv(Env)
	pipe, ended := os.NewFile(FD, "lifeline"), make(chan struct{})
	// Nobody waits for this goroutine: it lives as long as the process.
	go func() {
		_, _ = io.Copy(io.Discard, pipe)
		close(ended)
	}()
	return ended
}
