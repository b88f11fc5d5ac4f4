package registry

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/rogpeppe/go-internal/testscript"
)

// key is the key of the registry of a script among its values.
type key struct{}

// Setup prepares a script for the commands.
func Setup(env *testscript.Env) { env.Values[key{}] = new(*Server) }

// Commands returns commands of scripts:
//
//   - registry [tls] [password=PASSWORD] starts a registry, whose address is in $REGISTRY. With
//     tls, the certificate of its authority is in the file registry.pem. A password is that of the
//     user ann.
//   - stopregistry ends it
//   - uploads NUMBER checks how many uploads there were since the last time
//   - alter [manifests | blobs] changes contents on their way, or none any more
//   - sign REPOSITORY:TAG KEY signs an artifact with a key, whose public key is in the file KEY.pub
//   - pushimage NAME REPOSITORY:TAG [FOLDER] pushes an image that this program does not make
func Commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"registry": start, "stopregistry": stop, "uploads": uploads, "alter": alter,
		"pushimage": pushImage, "sign": sign,
	}
}

// usage ends the script unless the arguments are valid.
func usage(ts *testscript.TestScript, ok, neg bool, text string) {
	if !ok || neg {
		ts.Fatalf("usage: %s", text)
	}
}

// of returns the registry that the script has started.
func of(ts *testscript.TestScript) *Server {
	s, ok := ts.Value(key{}).(**Server)
	if !ok || *s == nil {
		ts.Fatalf("the script has no registry; start one by the command registry")
	}
	return *s
}

func start(ts *testscript.TestScript, neg bool, args []string) {
	password, authority := "", ""
	for _, arg := range args {
		value, isPassword := strings.CutPrefix(arg, "password=")
		usage(ts, arg == "tls" || isPassword, neg, "registry [tls] [password=PASSWORD]")
		if isPassword {
			password = value
		} else {
			authority = filepath.Join(ts.Getenv("WORK"), "registry.pem")
		}
	}
	s, err := Start(password, authority)
	ts.Check(err)
	ts.Defer(s.Close)
	*ts.Value(key{}).(**Server) = s
	ts.Setenv("REGISTRY", s.Address)
}

func stop(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 0, neg, "stopregistry")
	of(ts).CloseClientConnections()
	of(ts).Close()
}

func uploads(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 1, neg, "uploads NUMBER")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := of(ts).Uploads(); got != want {
		ts.Fatalf("the registry has had %d uploads, want %d", got, want)
	}
}

func alter(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) <= 1, neg, "alter [manifests | blobs]")
	of(ts).Alter(strings.Join(args, ""))
}

func sign(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 2, neg, "sign REPOSITORY:TAG KEY")
	s := of(ts)
	if s.keys[args[1]] == nil {
		key, err := newKey(ts.MkAbs(args[1] + ".pub"))
		ts.Check(err)
		s.keys[args[1]] = key
	}
	ts.Check(s.sign(args[0], s.keys[args[1]]))
}

func pushImage(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 2 || len(args) == 3, neg, "pushimage NAME REPOSITORY:TAG [FOLDER]")
	dir := ""
	if len(args) == 3 {
		dir = ts.MkAbs(args[2])
	}
	ts.Check(of(ts).PushImage(args[0], args[1], dir))
}

// PushImage pushes an image of images, with the files of a folder if it has files, or a manifest
// that is none, an index, or one with a layer that is too large.
func (s *Server) PushImage(name, target, dir string) error {
	switch name {
	case "none":
		return s.put(target, string(types.OCIManifestSchema1), []byte("this is none"))
	case "index":
		return s.put(target, string(types.OCIImageIndex), []byte(`{"schemaVersion":2,"manifests":[]}`))
	case "announced":
		return s.put(target, string(types.OCIManifestSchema1), announced())
	}
	if name == "copied" { // with its image, as imgpkg copy makes it
		if err := s.push(repository(target)+":image", empty.Image); err != nil {
			return err
		}
		name = "bundle"
	}
	build, ok := images[name]
	if !ok {
		return fmt.Errorf("there is no image %s", name)
	}
	return s.push(target, build(dir))
}
