package cli

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Limits of the search for packages, so that completion is quick in any folder.
const (
	searchedDepth   = 4
	searchedFolders = 1000
	searchedFiles   = 50      // of a folder
	searchedBytes   = 1 << 18 // of a file
)

// CompleteFolders completes the one argument of a command with the folders of packages, and with
// those on the way to one. Where no package is, it completes all folders.
func CompleteFolders(
	cmd *cobra.Command, args []string, typed string,
) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s := packageSearch{left: searchedFolders}
	above, _ := filepath.Split(typed)
	entries, err := os.ReadDir(filepath.Join(".", above))
	if filepath.IsAbs(above) {
		entries, err = os.ReadDir(above)
	}
	if err != nil {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	var found []string
	directive := cobra.ShellCompDirectiveNoFileComp
	for _, entry := range entries {
		name := above + entry.Name()
		if !strings.HasPrefix(name, typed) || !s.enters(entry) {
			continue
		}
		switch {
		case hasPackage(name):
			found = append(found, name)
		case s.below(name, 1):
			found = append(found, name+string(filepath.Separator))
			directive |= cobra.ShellCompDirectiveNoSpace
		}
	}
	if len(found) == 0 {
		return CompleteAllFolders(cmd, args, typed)
	}
	return found, directive
}

// CompleteAllFolders completes the one argument of a command with folders.
func CompleteAllFolders(
	_ *cobra.Command, args []string, _ string,
) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// packageSearch looks for packages in folders.
type packageSearch struct{ left int } // how many more folders are read

// enters reports whether the search reads an entry: folders that are not hidden.
func (s *packageSearch) enters(entry fs.DirEntry) bool {
	return entry.IsDir() && !strings.HasPrefix(entry.Name(), ".")
}

// below reports whether a folder below this one has a package. If it is not known after the limits
// of the search, the answer is yes.
func (s *packageSearch) below(dir string, depth int) bool {
	if s.left--; s.left < 0 || depth > searchedDepth {
		return true
	}
	entries, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(entry fs.DirEntry) bool {
		path := filepath.Join(dir, entry.Name())
		return s.enters(entry) && (hasPackage(path) || s.below(path, depth+1))
	})
}

// hasPackage reports whether a file of a folder looks like the inventory of a package. Whether it
// is valid is found out by the command.
func hasPackage(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	read := 0
	return slices.ContainsFunc(entries, func(entry fs.DirEntry) bool {
		name := entry.Name()
		switch ext := filepath.Ext(name); {
		case !entry.Type().IsRegular():
			return false
		case name == "Kptfile" || name == "inventory-template.yaml":
			return true
		case ext != ".yaml" && ext != ".yml" || read == searchedFiles:
			return false
		}
		read++
		return hasText(filepath.Join(dir, name), []byte("kind: ResourceGroup"))
	})
}

// hasText reports whether the beginning of a file has a text.
func hasText(path string, text []byte) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, searchedBytes))
	return err == nil && bytes.Contains(content, text)
}
