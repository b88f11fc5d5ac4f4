package plane

import (
	"fmt"
	"os"
	"path/filepath"
)

// paths names every file of a plane; the string is the plane's folder.
type paths string

func (p paths) in(elem ...string) string {
	return filepath.Join(append([]string{string(p)}, elem...)...)
}

func (p paths) state() string                 { return p.in("plane.json") }
func (p paths) lock() string                  { return p.in("lock") }
func (p paths) kubeconfig() string            { return p.in("kubeconfig") }
func (p paths) data() string                  { return p.in("etcd") }
func (p paths) cert(name string) string       { return p.in("pki", name+".crt") }
func (p paths) key(name string) string        { return p.in("pki", name+".key") }
func (p paths) userConfig(name string) string { return p.in("pki", name+".kubeconfig") }
func (p paths) log(name string) string        { return p.in("logs", name+".log") }
func (p paths) previousLog(name string) string {
	return p.in("logs", name+".previous.log")
}

// make creates the folders of a plane, readable by their owner only.
func (p paths) make() error {
	for _, dir := range []string{string(p), p.in("pki"), p.in("logs"), p.data()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("create state folder: %w", err)
		}
	}
	if err := os.Chmod(string(p), 0o700); err != nil {
		return fmt.Errorf("protect state folder: %w", err)
	}
	return nil
}

// write writes a file that only its owner may read, whole or not at all.
func write(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // Gone already when the rename succeeded.
	if _, err := tmp.Write(data); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
