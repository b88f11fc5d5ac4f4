package plane_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/muster-deploy/muster/local/plane"
)

const tiedDir = "MUSTER_TEST_TIED_DIR"

// A plane that is tied ends with the process that started it, even if that one is killed.
func TestTiedPlaneEndsWithItsProcess(t *testing.T) {
	if dir := os.Getenv(tiedDir); dir != "" {
		holdPlane(t, dir)
	}
	dir := t.TempDir()
	holder := exec.Command(os.Args[0], "-test.run=^TestTiedPlaneEndsWithItsProcess$")
	holder.Env = append(os.Environ(), tiedDir+"="+dir)
	said, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer holder.Process.Kill()
	if _, err := said.Read(make([]byte, 1)); err != nil { // It speaks once the plane is started.
		t.Fatal(err)
	}
	p, err := plane.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	started := pids(p)
	if len(started) != len(p.Names()) || started["kwok"] == 0 {
		t.Fatalf("started %v", started)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // It was killed.
	assertGone(t, started)
}

// holdPlane starts a tied plane and waits to be killed.
func holdPlane(t *testing.T, dir string) {
	// Not in a folder of this process's own: it is killed before it could remove that.
	if _, err := plane.Up(t.Context(), plane.Options{Dir: dir, Bin: programs(t), Tied: true,
		NoWait: true}); err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString(".")
	<-t.Context().Done()
}
