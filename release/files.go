package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/base/reference"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/program"
)

// file is a file of an archive.
type file struct {
	name    string
	content []byte
	mode    int64
}

// files returns the files of an archive, by name: the program, texts of the source, completions and
// manual pages.
func (r *release) files(source, programPath string) ([]file, error) {
	all := map[string][]byte{}
	for _, path := range []string{
		programPath, filepath.Join(source, "LICENSE"), filepath.Join(source, "NOTICE"),
		filepath.Join(source, "README.md"), filepath.Join(source, "CHANGELOG.md"),
	} {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		all[filepath.Base(path)] = content
	}
	for shell, name := range completions {
		text, err := completion(shell)
		if err != nil {
			return nil, err
		}
		all["completions/"+name] = text
	}
	pages := program.Manual(reference.Source{
		Version: r.version, Date: r.date.Format(time.DateOnly),
	})
	for name, page := range pages {
		all["man/man1/"+name] = []byte(page)
	}
	var files []file
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := file{name: name, content: all[name], mode: 0o644}
		if name == filepath.Base(programPath) {
			f.mode = 0o755
		}
		files = append(files, f)
	}
	return files, nil
}

// completions are the names of the files with the code for each shell.
var completions = map[string]string{
	"bash": "muster.bash", "zsh": "_muster", "fish": "muster.fish", "powershell": "muster.ps1",
}

// completion returns the code with which a shell completes command lines.
func completion(shell string) ([]byte, error) {
	var out, errs bytes.Buffer
	env := &cli.Env{
		Args: []string{"muster", "completion", shell}, In: strings.NewReader(""), Out: &out, Err: &errs,
		Getenv: os.Getenv, Now: time.Now,
	}
	if code := program.Main(env); code != 0 {
		return nil, fmt.Errorf("muster completion %s: exit code %d: %s", shell, code, &errs)
	}
	return out.Bytes(), nil
}

// writeArchive writes the archive of a platform: zip for Windows, else a compressed tar.
func (r *release) writeArchive(files []file, system, arch string) error {
	name, write := r.base(system, arch)+".tar.gz", writeTar
	if system == "windows" {
		name, write = r.base(system, arch)+".zip", writeZip
	}
	var b bytes.Buffer
	if err := write(&b, files, r.date); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return os.WriteFile(filepath.Join(r.out, name), b.Bytes(), 0o644)
}

// writeTar writes a compressed tar. Owners and times are those of the release.
func writeTar(out io.Writer, files []file, date time.Time) error {
	zipped, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(zipped)
	for _, f := range files {
		err := archive.WriteHeader(&tar.Header{
			Name: f.name, Size: int64(len(f.content)), Mode: f.mode, ModTime: date, Format: tar.FormatPAX,
			Uname: "root", Gname: "root",
		})
		if err != nil {
			return err
		}
		if _, err := archive.Write(f.content); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return zipped.Close()
}

// writeZip writes a zip. Times are that of the release.
func writeZip(out io.Writer, files []file, date time.Time) error {
	archive := zip.NewWriter(out)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: date}
		header.SetMode(os.FileMode(f.mode))
		w, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := w.Write(f.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// sumsName is the name of the file with the checksums.
const sumsName = "SHA256SUMS"

// sumsOf returns the checksums of the files in a folder.
func sumsOf(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content)
		sums[entry.Name()] = hex.EncodeToString(sum[:])
	}
	return sums, nil
}

// writeSums writes the checksums of all files in a folder in the form of sha256sum.
func writeSums(dir string) error {
	sums, err := sumsOf(dir)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&b, "%s  %s\n", sums[name], name)
	}
	return os.WriteFile(filepath.Join(dir, sumsName), []byte(b.String()), 0o644)
}
