package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-deploy/muster/internal/base/suggest"
)

// looksLikeFlag matches an argument that is meant as a flag.
var looksLikeFlag = regexp.MustCompile(`^--?[A-Za-z]`)

// checkArgs returns an error for arguments that cobra accepts and that are a mistake: a command
// that a group does not have, and a flag as the value of another one.
func checkArgs(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err != nil || !cmd.HasParent() || !isNative(cmd) || root.Name() == kptProgram {
		return nil // the execution returns the error, if there is one
	}
	if err := checkValues(cmd, rest); err != nil {
		return err
	}
	if cmd.Runnable() || cmd.ParseFlags(rest) != nil || cmd.Flags().NArg() == 0 {
		return nil
	}
	var known []string
	for _, below := range cmd.Commands() {
		known = append(known, below.Name())
	}
	name := cmd.Flags().Arg(0)
	return fmt.Errorf("unknown command %q for %q%s; see '%s --help'", name, cmd.CommandPath(),
		suggest.Hint(name, known, ""), cmd.CommandPath())
}

// isNative reports whether a command is not one of the tools whose grammars muster has, or is the
// group of such commands.
func isNative(cmd *cobra.Command) bool {
	top := cmd
	for top.HasParent() && top.Parent().HasParent() {
		top = top.Parent()
	}
	return top.Annotations[native] != "" || !cmd.Runnable()
}

// checkValues returns an error if a flag that needs a value is followed by another flag. Such a
// value can be given after an equals sign.
func checkValues(cmd *cobra.Command, args []string) error {
	for i := 0; i+1 < len(args) && args[i] != "--"; i++ {
		flag := flagOf(cmd, args[i])
		if flag == nil || flag.NoOptDefVal != "" {
			continue
		}
		if i++; looksLikeFlag.MatchString(args[i]) {
			return fmt.Errorf("flag needs an argument: %s: it is followed by %s; a value that begins with "+
				"a dash is given as --%s=%s", args[i-1], args[i], flag.Name, args[i])
		}
	}
	return nil
}

// flagOf returns the flag that an argument names and that takes the next argument as its value, as
// far as the argument says so; nil for none.
func flagOf(cmd *cobra.Command, arg string) *pflag.Flag {
	name, isLong := strings.CutPrefix(arg, "--")
	if isLong {
		return cmd.Flag(name) // nil with a value after an equals sign
	}
	letter, isShort := strings.CutPrefix(arg, "-")
	if !isShort || len(letter) != 1 {
		return nil
	}
	if flag := cmd.Flags().ShorthandLookup(letter); flag != nil {
		return flag
	}
	return cmd.InheritedFlags().ShorthandLookup(letter)
}
