// Command release builds the files of a release of one commit: programs, archives, packages, lists
// of components, completions, manual pages, manifests of package managers, and checksums. Two
// releases of a commit are equal byte by byte.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// platforms are those that a release is for.
var platforms = []string{
	"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64",
}

// homepage is the address of the project.
const homepage = "https://github.com/muster-deploy/muster"

// noAddress stands for a release without manifests that name download addresses.
const noAddress = "none"

// release is what is released and where.
type release struct {
	version   string // as v1.2.3
	url       string // of the folder with the files of the release; noAddress if there is none
	out       string
	platforms []string
	commit    string
	date      time.Time // of the commit, or SOURCE_DATE_EPOCH
}

func main() {
	r := release{}
	flag.StringVar(&r.version, "version", "", "version of the release, as v1.2.3")
	flag.StringVar(&r.url, "url", "", "address of the folder that will hold the files")
	flag.StringVar(&r.out, "out", "dist", "folder that the files are written to")
	only := flag.String("platforms", strings.Join(platforms, ","), "platforms, separated by commas")
	flag.Parse()
	r.platforms = strings.Split(*only, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := r.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// versions are valid versions; those with a hyphen are pre-releases.
var versions = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.]+)?$`)

// check returns an error for a release that cannot be made, before anything is built.
func (r *release) check(changelog string) error {
	number := strings.TrimPrefix(r.version, "v")
	switch {
	case r.version == "":
		return errors.New("VERSION is empty: give the version of the release, as VERSION=v1.2.3")
	case !versions.MatchString(r.version):
		return fmt.Errorf("VERSION=%s is not a version: it must have the form v1.2.3 or v1.2.3-rc.1",
			r.version)
	case r.url == "":
		return errors.New("RELEASE_URL is empty: the krew manifest and the Homebrew formula name " +
			"download addresses; give the address of the folder that will hold the files, or " +
			"RELEASE_URL=none to leave the two out")
	case r.url != noAddress && !strings.HasPrefix(r.url, "https://"):
		return fmt.Errorf("RELEASE_URL=%s must begin with https://", r.url)
	case !strings.Contains(number, "-") && !strings.Contains(changelog, "\n## ["+number+"]"):
		return fmt.Errorf("CHANGELOG.md has no section for %s: rename its section Unreleased to "+
			"[%s], with the date", r.version, number)
	}
	for _, platform := range r.platforms {
		if !slices.Contains(platforms, platform) {
			return fmt.Errorf("the platform %s is none of %s", platform, strings.Join(platforms, ", "))
		}
	}
	return nil
}

func (r *release) run(ctx context.Context) error {
	changelog, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return fmt.Errorf("read the changes: %w; run it in the root of the repository", err)
	}
	if err := r.check(string(changelog)); err != nil {
		return err
	}
	if err := r.readCommit(ctx); err != nil {
		return err
	}
	if err := r.prepareOut(); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "muster-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	source := filepath.Join(work, "source")
	if err := command(ctx, "", nil, "git", "clone", "-q", ".", source); err != nil {
		return err
	}
	for _, platform := range r.platforms {
		began := time.Now()
		if err := r.buildPlatform(ctx, source, work, platform); err != nil {
			return err
		}
		fmt.Printf("%s in %s\n", platform, time.Since(began).Round(time.Second))
	}
	sums, err := sumsOf(r.out)
	if err != nil {
		return err
	}
	if err := r.writeManifests(sums); err != nil {
		return err
	}
	return writeSums(r.out)
}

// readCommit reads the commit and its time, which must be all that the work tree has.
func (r *release) readCommit(ctx context.Context) error {
	changed, err := output(ctx, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the work tree differs from its commit; commit or remove this first:\n%s",
			changed)
	}
	if r.commit, err = output(ctx, "git", "rev-parse", "HEAD"); err != nil {
		return err
	}
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		if seconds, err = output(ctx, "git", "show", "-s", "--format=%ct", "HEAD"); err != nil {
			return err
		}
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH=%s is no number of seconds", seconds)
	}
	r.date = time.Unix(n, 0).UTC()
	return nil
}

// prepareOut empties the folder for the files, if it holds an earlier release, or creates it.
func (r *release) prepareOut() error {
	entries, err := os.ReadDir(r.out)
	if err == nil && len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(r.out, sumsName)); err != nil {
			return fmt.Errorf("the folder %s holds something else than a release: give another one as "+
				"DIST", r.out)
		}
		if err := os.RemoveAll(r.out); err != nil {
			return err
		}
	}
	return os.MkdirAll(r.out, 0o755)
}

// buildPlatform builds everything for a platform.
func (r *release) buildPlatform(ctx context.Context, source, work, platform string) error {
	system, arch, _ := strings.Cut(platform, "/")
	bin := filepath.Join(work, system+"_"+arch)
	env := []string{"GOOS=" + system, "GOARCH=" + arch, "GOFLAGS=-trimpath"}
	err := command(ctx, source, env, "make", "-s", "build-muster", "BIN="+bin, "VERSION="+r.version)
	if err != nil {
		return fmt.Errorf("build for %s: %w", platform, err)
	}
	program := filepath.Join(bin, "muster")
	if system == "windows" {
		program += ".exe"
	}
	files, err := r.files(source, program)
	if err != nil {
		return err
	}
	if err := r.writeArchive(files, system, arch); err != nil {
		return err
	}
	list := filepath.Join(r.out, r.base(system, arch)+".cdx.json")
	if err := r.listComponents(ctx, program, list); err != nil {
		return fmt.Errorf("list the components for %s: %w", platform, err)
	}
	if system != "linux" {
		return nil
	}
	return r.writePackages(ctx, files, bin, arch)
}

// base returns the name of a file of the release for a platform, without its ending.
func (r *release) base(system, arch string) string {
	return fmt.Sprintf("muster_%s_%s_%s", strings.TrimPrefix(r.version, "v"), system, arch)
}

// command runs a command in a folder, with more variables in its environment. Its output is printed
// if it fails.
func command(ctx context.Context, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// output returns what a command prints.
func output(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
