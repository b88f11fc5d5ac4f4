package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
)

// Journal has a file for each run that is under way. A process that crashes leaves them, and the
// next one in the same folder finds them; one that ends in order, or a new pod, finds none.
type Journal struct {
	dir   string
	mutex sync.Mutex
	runs  map[types.NamespacedName]int // abandoned ones, too
}

// Crashed is a Set with a run that was under way when an earlier process crashed.
type Crashed struct {
	Namespace, Name string
	UID             types.UID
	Generation      int64
	Reconcile       string // the value of the annotation
	path            string
}

// journalSuffix ends the names of the files of a journal.
const journalSuffix = ".running"

// OpenJournal returns the journal in a folder, which it makes, and what an earlier process has left
// there.
func OpenJournal(dir string) (*Journal, []Crashed, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	var crashed []Crashed
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), journalSuffix) {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		c := Crashed{path: path}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, err
		}
		if json.Unmarshal(text, &c) != nil || c.Name == "" { // it crashed while it wrote this
			_ = os.Remove(path)
			continue
		}
		crashed = append(crashed, c)
	}
	return &Journal{dir: dir, runs: map[types.NamespacedName]int{}}, crashed, nil
}

// Forget removes what an earlier process has left of a Set.
func (c Crashed) Forget() error { return os.Remove(c.path) }

// path returns the file of a Set. Neither a namespace nor a name has an underscore.
func (j *Journal) path(set types.NamespacedName) string {
	return filepath.Join(j.dir, set.Namespace+"_"+set.Name+journalSuffix)
}

// begin notes that a run of a Set begins. The caller calls ended once the run only waits, and when
// it has ended; a second call does nothing.
func (j *Journal) begin(set *v1alpha1.Set) (ended func(), err error) {
	if j == nil {
		return func() {}, nil
	}
	text, err := json.Marshal(Crashed{
		Namespace: set.Namespace, Name: set.Name, UID: set.UID, Generation: set.Generation,
		Reconcile: set.Annotations[v1alpha1.AnnotationReconcile],
	})
	if err != nil {
		return nil, err
	}
	name := types.NamespacedName{Namespace: set.Namespace, Name: set.Name}
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.runs[name]++
	if err := os.WriteFile(j.path(name), text, 0o600); err != nil {
		return nil, fmt.Errorf("note that a run begins: %w", err)
	}
	return sync.OnceFunc(func() { j.remove(name) }), nil
}

// remove notes that a run of a Set has ended, or only waits.
func (j *Journal) remove(name types.NamespacedName) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if j.runs[name]--; j.runs[name] > 0 {
		return
	}
	delete(j.runs, name)
	_ = os.Remove(j.path(name)) // a file that stays counts as one crash
}

// Close notes that the process ends in order.
func (j *Journal) Close() error {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	var errs []error
	for name := range j.runs {
		if err := os.Remove(j.path(name)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
