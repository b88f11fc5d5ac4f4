package artifact

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// archive returns the tree as a compressed archive, which depends on nothing but the paths, the
// contents and the executable bits.
func (t Tree) archive() ([]byte, error) {
	if t.size() > MaxBytes {
		return nil, fmt.Errorf("the files %w", errTooLarge)
	}
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(compressed)
	made := map[string]bool{".": true}
	for _, name := range t.Paths() {
		for _, dir := range folders(name) {
			if made[dir] {
				continue
			}
			made[dir] = true
			if err := w.WriteHeader(&tar.Header{
				Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: time.Unix(0, 0),
			}); err != nil {
				return nil, fmt.Errorf("pack %s: %w", dir, err)
			}
		}
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(t[name].Data)),
			ModTime: time.Unix(0, 0),
		}
		if t[name].Executable {
			h.Mode = 0o755
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
		if _, err := w.Write(t[name].Data); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if err := errors.Join(w.Close(), compressed.Close()); err != nil {
		return nil, fmt.Errorf("pack the files: %w", err)
	}
	return out.Bytes(), nil
}

// folders returns the folders above a path, the outermost first.
func folders(name string) (all []string) {
	for i, c := range name {
		if c == '/' {
			all = append(all, name[:i])
		}
	}
	return all
}

// headers is the room for the headers of an archive whose files have few bytes.
const headers = 1 << 20

// unpacker reads the layers of an artifact into a tree.
type unpacker struct {
	tree    Tree
	size    int64
	limit   int64 // of size
	entries int
}

// tooMany returns the error for an archive with files of more bytes than a limit, or with too many
// files.
func tooMany(limit int64) error {
	return fmt.Errorf("its files %w, or there are more than %d", tooLargeError{limit}, maxEntries)
}

// add reads an archive, compressed or not, into the tree. Files of it replace those of earlier
// ones. Nothing but files and folders may be in it, and not more than the limits allow.
func (u *unpacker) add(archive io.Reader) error {
	in := bufio.NewReader(archive)
	var unpacked io.Reader = in
	if magic, err := in.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		compressed, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("the archive is damaged: %w", err)
		}
		unpacked = compressed
	}
	// Headers and padding count, too: an archive of nothing else could be as large.
	limited := &limitedReader{from: unpacked, left: 2*u.limit + headers}
	r := tar.NewReader(limited)
	for first := true; ; first = false {
		h, err := r.Next()
		switch {
		case limited.exceeded || u.entries >= maxEntries:
			return tooMany(u.limit)
		case err == io.EOF && first:
			return errors.New("the archive is empty, or is none")
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("the archive is damaged, or is none: %w", err)
		}
		u.entries++
		if err := u.addEntry(h, r); err != nil {
			return err
		}
	}
}

// addEntry adds an entry of an archive.
func (u *unpacker) addEntry(h *tar.Header, content io.Reader) error {
	name := strings.TrimPrefix(h.Name, "./")
	if slices.Contains(strings.Split(name, "/"), ".git") {
		return nil // it is no part of an artifact, as of a folder
	}
	switch h.Typeflag {
	case tar.TypeXGlobalHeader:
		return nil
	case tar.TypeDir:
		if name = strings.TrimSuffix(name, "/"); name == "" || name == "." {
			return nil
		}
		return checkPath(name)
	case tar.TypeSymlink, tar.TypeLink:
		return fmt.Errorf("%q is a link to %q, and links are not unpacked", h.Name, h.Linkname)
	case tar.TypeReg:
	default:
		return fmt.Errorf("%q is no regular file, and only files and folders are unpacked", h.Name)
	}
	if err := checkPath(name); err != nil {
		return err
	}
	u.size += h.Size - int64(len(u.tree[name].Data))
	if h.Size > u.limit || u.size > u.limit {
		return tooMany(u.limit)
	}
	data, err := io.ReadAll(content)
	if err != nil {
		return fmt.Errorf("the archive is damaged in %s: %w", name, err)
	}
	u.tree[name] = File{Data: data, Executable: h.Mode&0o111 != 0}
	return nil
}

// Unpack returns the files of the layers of an artifact. Those of a later layer replace those of
// earlier ones.
func Unpack(layers [][]byte) (Tree, error) { return unpack(layers, MaxBytes) }

func unpack(layers [][]byte, limit int64) (Tree, error) {
	u := &unpacker{tree: Tree{}, limit: limit}
	for _, layer := range layers {
		if err := u.add(bytes.NewReader(layer)); err != nil {
			return nil, err
		}
	}
	return u.tree, u.tree.check(limit)
}

// UnpackArchive returns the files of an archive, compressed or not, with at most so many bytes.
func UnpackArchive(archive io.Reader, limit int64) (Tree, error) {
	u := &unpacker{tree: Tree{}, limit: limit}
	if err := u.add(archive); err != nil {
		return nil, err
	}
	return u.tree, u.tree.check(limit)
}

// errExceeded ends the reading of an archive that is too large.
var errExceeded = errors.New("there are too many bytes")

// limitedReader reads up to a number of bytes, and remembers whether there were more.
type limitedReader struct {
	from     io.Reader
	left     int64
	exceeded bool
}

// Read reads some bytes.
func (r *limitedReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		r.exceeded = true
		return 0, errExceeded
	}
	if int64(len(p)) > r.left {
		p = p[:r.left]
	}
	n, err := r.from.Read(p)
	r.left -= int64(n)
	return n, err
}

// check returns an error if a file of the tree is a folder of another, or if there are too many
// folders.
func (t Tree) check(limit int64) error {
	seen := map[string]bool{}
	for _, name := range t.Paths() {
		for _, dir := range folders(name) {
			if seen[dir] = true; len(seen) > maxEntries {
				return tooMany(limit)
			}
			if _, isFile := t[dir]; isFile {
				return fmt.Errorf("%q is a file, and %q is in it", dir, name)
			}
		}
	}
	return nil
}

// Sub returns the files in a folder, by their paths in it; all of them if it is empty.
func (t Tree) Sub(folder string) Tree {
	if folder == "" {
		return t
	}
	found := Tree{}
	for name, file := range t {
		if rel, ok := strings.CutPrefix(name, folder+"/"); ok {
			found[rel] = file
		}
	}
	return found
}

// HasFolder reports whether there are files in a folder.
func (t Tree) HasFolder(folder string) bool {
	for name := range t {
		if strings.HasPrefix(name, folder+"/") {
			return true
		}
	}
	return false
}
