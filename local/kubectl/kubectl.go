// Package kubectl runs kubectl in the process of the tests. A script starts kubectl some thousand
// times, also several times a second while it waits. Most of the time of each such process goes
// into its own start; here that happens once.
//
// Scripts do not know of it: the program kubectl of their PATH is the small one of the folder
// call, which gives its arguments, its folder, and its files of input and output to the tests
// through a socket, and ends with the code that comes back. What is not in the table of commands
// is run by the kubectl of the machine.
package kubectl

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"

	"github.com/muster-deploy/muster/local/kubectl/call/protocol"
)

// commands are those that run in this process: they end by themselves, start no other program and
// need no terminal.
var commands = map[string]bool{
	"annotate": true, "api-resources": true, "apply": true, "auth": true, "config": true,
	"create": true, "delete": true, "describe": true, "get": true, "label": true, "patch": true,
	"replace": true, "rollout": true, "scale": true, "set": true, "wait": true,
}

// Install builds the program kubectl into a folder, puts the folder first in the PATH, and serves
// the calls of the program until the process ends.
func Install(dir string) error {
	machine, err := exec.LookPath("kubectl")
	if err != nil {
		return err
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "kubectl"),
		"github.com/muster-deploy/muster/local/kubectl/call")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build kubectl: %w\n%s", err, out)
	}
	if err := os.Symlink(machine, filepath.Join(dir, protocol.Machine)); err != nil {
		return err
	}
	address := &net.UnixAddr{Name: filepath.Join(dir, protocol.Socket), Net: "unix"}
	listener, err := net.ListenUnix("unix", address)
	if err != nil {
		return err
	}
	os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	util.BehaviorOnFatal(func(message string, code int) { panic(ended{message, code}) })
	go func() {
		for {
			conn, err := listener.AcceptUnix()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return nil
}

// ended is the panic by which a command ends that kubectl itself ends with exit.
type ended struct {
	message string
	code    int
}

// serve answers one call.
func serve(conn *net.UnixConn) {
	defer conn.Close()
	call, files, err := receive(conn)
	if err != nil {
		return // the caller has been killed
	}
	defer func() {
		for _, file := range files {
			_ = file.Close()
		}
	}()
	code := protocol.Unknown
	if runs(call) {
		code = run(call, genericiooptions.IOStreams{In: files[0], Out: files[1], ErrOut: files[2]})
	}
	_, _ = conn.Write([]byte{byte(code)})
}

// receive reads a call and the files of its standard input and outputs.
func receive(conn *net.UnixConn) (protocol.Call, []*os.File, error) {
	var call protocol.Call
	text, rights := make([]byte, protocol.Most), make([]byte, syscall.CmsgSpace(3*4))
	n, size, _, _, err := conn.ReadMsgUnix(text, rights)
	if err != nil {
		return call, nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:size])
	if err != nil || len(messages) != 1 {
		return call, nil, errors.Join(err, errors.New("no files came with the call"))
	}
	numbers, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(numbers) != 3 {
		return call, nil, errors.Join(err, errors.New("not three files came with the call"))
	}
	files := make([]*os.File, len(numbers))
	for i, number := range numbers {
		syscall.CloseOnExec(number)
		files[i] = os.NewFile(uintptr(number), "")
	}
	decoder := json.NewDecoder(io.MultiReader(strings.NewReader(string(text[:n])), conn))
	return call, files, decoder.Decode(&call)
}

// runs reports whether a call can be served in this process, which has one log for all.
func runs(call protocol.Call) bool {
	if call.Kubeconfig == "" || strings.Contains(call.Kubeconfig, string(os.PathListSeparator)) {
		return false
	}
	for _, arg := range call.Args {
		if verbose(arg) || arg == "-w" || strings.HasPrefix(arg, "--watch") {
			return false
		}
	}
	return len(call.Args) > 0 && commands[command(call.Args)]
}

// verbose reports whether an argument asks for more in the log.
func verbose(arg string) bool {
	return strings.HasPrefix(arg, "-v") || strings.HasPrefix(arg, "--v=")
}

// command returns the first argument that is no flag, or the value of one.
func command(args []string) string {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.SetInterspersed(false)
	genericclioptions.NewConfigFlags(true).AddFlags(flags)
	if flags.Parse(args) != nil || flags.NArg() == 0 {
		return ""
	}
	return flags.Arg(0)
}

// run runs a command and returns its exit code. A "kubectl wait" fails at once if the server has
// stored an object, such as a definition, but no conditions yet; it is repeated for half a minute,
// as long as it waits without --timeout.
func run(call protocol.Call, streams genericiooptions.IOStreams) int {
	end := execute(call, streams)
	for last := time.Now().Add(30 * time.Second); noConditions(call, end) && time.Now().Before(last); {
		time.Sleep(50 * time.Millisecond)
		end = execute(call, streams)
	}
	if end.message != "" {
		fmt.Fprintln(streams.ErrOut, strings.TrimSuffix(end.message, "\n"))
	}
	return end.code
}

// noConditions reports whether a command ended since an object had no conditions yet.
func noConditions(call protocol.Call, end ended) bool {
	return command(call.Args) == "wait" &&
		strings.Contains(end.message, ".status.conditions accessor error: <nil>")
}

// execute runs a command once.
func execute(call protocol.Call, streams genericiooptions.IOStreams) (end ended) {
	defer func() {
		if r := recover(); r != nil {
			var ok bool
			if end, ok = r.(ended); !ok {
				end = ended{fmt.Sprintf("kubectl: %v", r), 2}
			}
		}
	}()
	cache := filepath.Join(call.Home, ".kube", "cache")
	flags := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().
		WithDiscoveryBurst(300).WithDiscoveryQPS(50).WithWarningPrinter(streams)
	flags.KubeConfig, flags.CacheDir = &call.Kubeconfig, &cache
	flags.WithWrapConfigFn(func(config *rest.Config) *rest.Config {
		config.UserAgent = "kubectl/v1 (tests)"
		config.WarningHandler = rest.NewWarningWriter(streams.ErrOut,
			rest.WarningWriterOptions{Deduplicate: true})
		return config
	})
	args := absolute(call.Dir, standardInput(streams.In), call.Args)
	if command(args) == "config" { // it reads the environment, unless a flag names the file
		args = append([]string{"--kubeconfig=" + call.Kubeconfig}, args...)
	}
	kubectl := cmd.NewKubectlCommand(cmd.KubectlOptions{
		Arguments: append([]string{"kubectl"}, args...), ConfigFlags: flags, IOStreams: streams,
	})
	// They set the handler of warnings of the whole process, and start and end profiles.
	kubectl.PersistentPreRunE, kubectl.PersistentPostRunE = nil, nil
	replaceCanI(kubectl, util.NewFactory(flags), streams)
	kubectl.SetArgs(args)
	kubectl.SetIn(streams.In)
	kubectl.SetOut(streams.Out)
	kubectl.SetErr(streams.ErrOut)
	kubectl.SilenceErrors, kubectl.SilenceUsage = true, true
	util.CheckErr(kubectl.Execute())
	return ended{}
}
