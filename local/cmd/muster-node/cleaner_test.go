//go:build linux

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// folderEnv is the environment variable with the folder in which the test below has groups.
const folderEnv = "MUSTER_TEST_NODE_GROUPS"

// cleaned are options of a node with a number that no other node of this machine has.
var cleaned = options{name: "real-0", state: "/", bin: "/", slot: 63}

// TestMain runs the program in the processes that it starts of itself.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "--clean") {
		main()
		return
	}
	os.Exit(m.Run())
}

// What a node has on the host is removed also when its process is killed, and nobody can claim its
// addresses before.
func TestCleanerOfAKilledNode(t *testing.T) {
	if folder := os.Getenv(folderEnv); folder != "" {
		holdGroup(t, folder)
	}
	folder := t.TempDir()
	inner := mkdir(t, folder, "group", "pods")
	holder := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	holder.Env = append(os.Environ(), folderEnv+"="+filepath.Join(folder, "group"))
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _, err := bufio.NewReader(out).ReadLine(); string(line) != "started" {
		t.Fatalf("%s, %v", line, err)
	}
	write(t, "", inner, "busy") // a folder that cannot be removed yet
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // it was killed
	if claimed, err := claim(cleaned); err == nil {
		claimed.Close()
		t.Error("the addresses of a node that is not removed are free")
	}
	if err := os.Remove(filepath.Join(inner, "busy")); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		claimed, err := claim(cleaned)
		if err == nil {
			claimed.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	if left := folders(filepath.Join(folder, "group")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// holdGroup claims addresses, starts a cleaner, and waits to be killed.
func holdGroup(t *testing.T, folder string) {
	claimed, err := claim(cleaned)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := startCleaner(cleaned, claimed, groups{own: []string{folder}}); err != nil {
		t.Fatal(err)
	}
	fmt.Println("started")
	time.Sleep(time.Hour)
}
