// Command site builds the documentation as a folder of static pages: the README is the first page,
// the files below docs are the others. It reads Markdown and writes HTML without scripts, and it
// fails if a link leads nowhere. It fetches nothing: links to other sites are not followed.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", "..", "folder of the repository")
	out := flag.String("out", "../bin/site", "folder to write, which is replaced")
	session := flag.Bool("session", false, "only draw "+sessionPicture+" of "+sessionPage)
	flag.Parse()
	if *session {
		picture, err := drawSession(*root)
		if err == nil {
			err = write(filepath.Join(*root, sessionPicture), []byte(picture))
		}
		if err != nil {
			fail(err)
		}
		return
	}
	if err := os.RemoveAll(*out); err != nil {
		fail(err)
	}
	count, err := build(*root, *out)
	if err != nil {
		fail(err)
	}
	fmt.Printf("%d pages in %s\n", count, *out)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "site:", err)
	os.Exit(1)
}
