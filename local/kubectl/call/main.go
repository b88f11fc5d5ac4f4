// The program kubectl of the tests; see the package above.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/muster-deploy/muster/local/kubectl/call/protocol"
)

func main() {
	code := 0
	program, err := os.Executable()
	beside := filepath.Dir(program)
	if err == nil && isSet(os.Environ()) {
		code = protocol.Unknown
	} else if err == nil {
		code, err = call(filepath.Join(beside, protocol.Socket))
	}
	if err == nil && code == protocol.Unknown {
		machine := filepath.Join(beside, protocol.Machine)
		args := append([]string{machine}, os.Args[1:]...)
		err = syscall.Exec(machine, args, os.Environ())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubectl of the tests:", err)
		code = 1
	}
	os.Exit(code)
}

// isSet reports whether an environment has settings of kubectl, which it reads for its process.
func isSet(environment []string) bool {
	return slices.ContainsFunc(environment, func(variable string) bool {
		return strings.HasPrefix(variable, "KUBECTL_")
	})
}

// call lets the tests that listen at a socket run the command, and returns its exit code.
func call(socket string) (int, error) {
	dir, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	text, err := json.Marshal(protocol.Call{
		Args: os.Args[1:], Dir: dir, Home: os.Getenv("HOME"), Kubeconfig: os.Getenv("KUBECONFIG"),
	})
	if err != nil {
		return 0, err
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return 0, err
	}
	first := min(len(text), protocol.Most)
	if _, _, err := conn.WriteMsgUnix(text[:first], syscall.UnixRights(0, 1, 2), nil); err != nil {
		return 0, err
	}
	if rest := text[first:]; len(rest) > 0 {
		if _, err := conn.Write(rest); err != nil {
			return 0, err
		}
	}
	answer := make([]byte, 1)
	if _, err := conn.Read(answer); err != nil {
		return 0, err
	}
	return int(answer[0]), nil
}
