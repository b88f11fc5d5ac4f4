// Package defect turns on one of the defects that a program has, or records which of them a run of
// it meets. Command mutants builds it into the programs that it tests.
package defect

import (
	"os"
	"strconv"
	"syscall"
)

// Env is the environment variable with the number of the defect that is on, or with the path of the
// file in which the byte of each defect is set that a run meets.
const Env = "MUSTER_DEFECT"

// Most is the size of that file, and the number of defects that a program can have.
const Most = 1 << 16

var on, met = read(os.Getenv(Env))

// On reports whether a defect is on.
func On(number int) bool {
	if met != nil {
		met[number] = 1
	}
	return number == on
}

// read returns what a value of Env says. The file is shared by all processes that name it, and has
// what they met also if they are killed.
func read(value string) (on int, met []byte) {
	if value == "" {
		return -1, nil
	}
	if number, err := strconv.Atoi(value); err == nil {
		return number, nil
	}
	file, err := os.OpenFile(value, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return -1, nil // a folder that this process may not write to
	}
	defer file.Close()
	if err := file.Truncate(Most); err != nil {
		return -1, nil
	}
	met, err = syscall.Mmap(int(file.Fd()), 0, Most, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_SHARED)
	if err != nil {
		return -1, nil
	}
	return -1, met
}
