package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// unusedTime is how long the cache keeps what is not used.
const unusedTime = 30 * 24 * time.Hour

// Cache keeps contents by their digests, and artifacts that are unpacked. Its content is checked
// whenever it is read.
type Cache struct {
	Dir string
	Now func() time.Time
}

// blob returns the path of a content.
func (c Cache) blob(d digest.Digest) string {
	return filepath.Join(c.Dir, d.Algorithm().String()+"-"+d.Encoded())
}

// tree returns the folder of an artifact.
func (c Cache) tree(d digest.Digest) string {
	return filepath.Join(c.Dir, "tree-"+d.Algorithm().String()+"-"+d.Encoded())
}

// load returns the content with a digest, or nil if the cache does not have it.
func (c Cache) load(d digest.Digest) []byte {
	text, err := os.ReadFile(c.blob(d))
	if err != nil || d.Algorithm().FromBytes(text) != d {
		return nil // it is fetched
	}
	_ = os.Chtimes(c.blob(d), c.Now(), c.Now()) // it only stays longer
	return text
}

// store keeps a content.
func (c Cache) store(d digest.Digest, text []byte) error {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(c.Dir, ".part-")
	if err != nil {
		return err
	}
	_, err = temp.Write(text)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), c.blob(d))
	}
	if err != nil {
		_ = os.Remove(temp.Name()) // the error is returned
	}
	return err
}

// fetch returns a content from the cache or else from a repository.
func (c Cache) fetch(
	ctx context.Context, r *Repository, d ocispec.Descriptor,
) ([]byte, error) {
	if text := c.load(d.Digest); text != nil && int64(len(text)) == d.Size {
		return text, nil
	}
	text, err := r.Fetch(ctx, d)
	if err != nil {
		return nil, err
	}
	if err := c.store(d.Digest, text); err != nil {
		return nil, c.explain(err)
	}
	return text, nil
}

// explain returns an error of the cache with what to do about it.
func (c Cache) explain(err error) error {
	return fmt.Errorf("write the cache of artifacts, %s; XDG_CACHE_HOME names another folder: %w",
		c.Dir, err)
}

// Manifest returns the descriptor and the manifest of the artifact with a digest if the cache has
// it.
func (c Cache) Manifest(d digest.Digest) (ocispec.Descriptor, bool) {
	if d == "" {
		return ocispec.Descriptor{}, false
	}
	text := c.load(d)
	if text == nil {
		return ocispec.Descriptor{}, false
	}
	return ocispec.Descriptor{
		MediaType: mediaTypeOf(text), Digest: d, Size: int64(len(text)),
	}, true
}

// Tree returns the files of an artifact: from the cache, and what that does not have from the
// repository.
func (c Cache) Tree(ctx context.Context, r *Repository, d ocispec.Descriptor) (Tree, error) {
	return r.tree(d, MaxBytes, func(d ocispec.Descriptor) ([]byte, error) {
		return c.fetch(ctx, r, d)
	})
}

// Folder returns a folder with the files of an artifact, which have been fetched. A folder that is
// as it should be is never removed: another run may be reading it.
func (c Cache) Folder(d digest.Digest, t Tree) (string, error) {
	if err := c.checkPrivate(); err != nil {
		return "", err
	}
	dir := c.tree(d)
	holds := func() bool {
		have, err := ReadFolder(dir, nil)
		return err == nil && have.Equal(t)
	}
	if holds() {
		_ = os.Chtimes(dir, c.Now(), c.Now()) // it only stays longer
		return dir, nil
	}
	c.prune()
	err := t.Write(dir)
	if err == nil || holds() { // another run has written it
		return dir, nil
	}
	aside, failed := os.MkdirTemp(c.Dir, ".changed-") // somebody has changed it
	if failed != nil {
		return "", c.explain(failed)
	}
	if os.Rename(dir, filepath.Join(aside, "tree")) == nil {
		err = t.Write(dir)
	}
	_ = os.RemoveAll(aside) // prune removes it later
	if err != nil && !holds() {
		return "", c.explain(err)
	}
	return dir, nil
}

// checkPrivate returns an error if others may write to the cache: commands read files of it after
// they have been checked.
func (c Cache) checkPrivate() error {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return c.explain(err)
	}
	info, err := os.Stat(c.Dir)
	if err != nil {
		return c.explain(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("others may write to the cache of artifacts, %s (mode %04o), and so change "+
			"what is deployed: run 'chmod go-w' on it, or name another folder with XDG_CACHE_HOME",
			c.Dir, info.Mode().Perm())
	}
	return nil
}

// prune removes what was not used for long. What cannot be removed stays.
func (c Cache) prune() {
	entries, _ := os.ReadDir(c.Dir)
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && c.Now().Sub(info.ModTime()) > unusedTime && info.Mode()&fs.ModeSymlink == 0 {
			_ = os.RemoveAll(filepath.Join(c.Dir, entry.Name()))
		}
	}
}
