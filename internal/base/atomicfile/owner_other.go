//go:build !unix

package atomicfile

import (
	"io/fs"
	"os"
)

// keepOwner does nothing: files have no owner that could be kept.
func keepOwner(*os.File, fs.FileInfo) {}
