package source

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/muster-deploy/muster/internal/feature/artifact"
)

// keepTime is how long a folder stays that is not used: longer than the time between two looks at a
// Set that nothing happens to.
const keepTime = 2 * time.Hour

// namespacePrefix begins the names of the folders of namespaces in the directory. Nothing else is
// removed from it.
const namespacePrefix = "namespace-"

// folders holds folders with files in a directory of the process: one for each namespace, with the
// folders of its sources. Their names are random, of 128 bits, and the files are read by the user
// of the process alone.
type folders struct {
	mutex  sync.Mutex
	dir    string
	cached map[content]*folder
	now    func() time.Time // nil means time.Now
}

// content is what was fetched for the Sets of a namespace.
type content struct{ namespace, id string }

// folder is a folder with files.
type folder struct {
	root   string // holds the folder, and nothing else
	images map[string]string
	users  int
	used   time.Time
}

// path returns the path of the files.
func (d *folder) path() string { return filepath.Join(d.root, "files") }

// prepare makes the directory, and removes what an earlier process has left. Afterwards it does
// nothing.
func (s *folders) prepare(dir string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.cached != nil {
		return nil
	}
	if dir == "" {
		return errors.New("the folder has no name")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", dir)
	case info.Mode().Perm()&0o077 != 0:
		if err := os.Chmod(dir, 0o700); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, namespacePrefix) {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	s.dir, s.cached = dir, map[content]*folder{}
	return nil
}

// time returns the present time.
func (s *folders) time() time.Time {
	if s.now != nil {
		return s.now()
	}
	return time.Now()
}

// take returns a folder that was put under a key; nil if there is none. It has one more user.
func (s *folders) take(key content) *folder {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	d := s.cached[key]
	if d == nil {
		return nil
	}
	if _, err := os.Stat(d.path()); errors.Is(err, fs.ErrNotExist) {
		delete(s.cached, key) // somebody has removed it
		return nil
	}
	d.users++
	d.used = s.time()
	return d
}

// make makes an empty folder with a random name for a source of a namespace.
func (s *folders) make(namespace string) (string, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if strings.ContainsAny(namespace, `/\`) {
		return "", fmt.Errorf("%q is no name of a namespace", namespace)
	}
	parent := filepath.Join(s.dir, namespacePrefix+namespace)
	if err := os.Mkdir(parent, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	root := filepath.Join(parent, rand.Text())
	return root, os.Mkdir(root, 0o700)
}

// remove removes a folder that make has made, and that of the namespace if it was the last one.
func (s *folders) remove(root string) error {
	err := os.RemoveAll(root)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	_ = os.Remove(filepath.Dir(root)) // it has other folders
	return err
}

// write writes files into a new folder for a source of a namespace.
func (s *folders) write(namespace string, t artifact.Tree) (*folder, error) {
	root, err := s.make(namespace)
	if err != nil {
		return nil, err
	}
	d := &folder{root: root, users: 1, used: s.time()}
	if err := t.WritePrivate(d.path()); err != nil {
		return nil, errors.Join(err, s.remove(root))
	}
	return d, nil
}

// put writes files that were fetched into a folder, which others take by the key. It has one user.
func (s *folders) put(key content, t artifact.Tree, images map[string]string) (*folder, error) {
	d, err := s.write(key.namespace, t)
	if err != nil {
		return nil, err
	}
	d.images = images
	s.removeUnused()
	s.mutex.Lock()
	other := s.cached[key]
	if other == nil {
		s.cached[key] = d
	} else {
		other.users++
	}
	s.mutex.Unlock()
	if other == nil {
		return d, nil
	}
	return other, s.remove(d.root) // another user was faster
}

// release takes a user from a folder.
func (s *folders) release(d *folder) {
	s.mutex.Lock()
	d.users--
	d.used = s.time()
	s.mutex.Unlock()
	s.removeUnused()
}

// removeUnused removes the folders that were not used for long. What cannot be removed stays until
// the next process begins.
func (s *folders) removeUnused() {
	var unused []string
	s.mutex.Lock()
	for key, d := range s.cached {
		if d.users == 0 && s.time().Sub(d.used) > keepTime {
			delete(s.cached, key)
			unused = append(unused, d.root)
		}
	}
	s.mutex.Unlock()
	for _, root := range unused {
		_ = s.remove(root)
	}
}

// fetched returns a folder, or one in it, as the manifests of a Set.
func (s *folders) fetched(d *folder, sub, revision, name string) (*Fetched, error) {
	release := sync.OnceFunc(func() { s.release(d) })
	dir := filepath.Join(d.path(), filepath.FromSlash(sub))
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		release()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the files of %s: %w", name, err)
		}
		return nil, invalid("spec.source.path: there is no folder %q in %s", sub,
			strings.TrimRight(strings.TrimSuffix(name, sub), "/"))
	}
	return &Fetched{
		Folder: dir, Root: d.path(), Revision: revision, Name: name, Images: d.images, Release: release,
	}, nil
}
