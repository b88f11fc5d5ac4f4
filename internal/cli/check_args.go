package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// looksLikeFlag matches an argument that is meant as a flag.
var looksLikeFlag = regexp.MustCompile(`^--?[A-Za-z]`)

// checkArgs returns an error for arguments that cobra accepts and that are a mistake: a command
// that a group does not have, and a flag as the value of another one.
func checkArgs(root *cobra.Command, args []string) error {
	root.InitDefaultHelpCmd()
	cmd, rest, err := root.Find(args)
	switch {
	case root.Name() == kptProgram:
		return nil // the execution returns the error, if there is one
	case cmd.Name() == "help":
		return checkArgs(root, rest)
	case err != nil: // it is the root
		cmd.FParseErrWhitelist.UnknownFlags = true // those of the command that is meant
	case !isNative(cmd):
		return nil
	}
	if err := checkValues(cmd, rest); err != nil {
		return err
	}
	if cmd.Runnable() || cmd.ParseFlags(rest) != nil || cmd.Flags().NArg() == 0 {
		return nil
	}
	name := cmd.Flags().Arg(0)
	if strings.HasPrefix(name, cobra.ShellCompRequestCmd) {
		return nil
	}
	hint := ""
	if meant := cmd.SuggestionsFor(name); len(meant) > 0 {
		hint = "; did you mean " + strings.Join(meant, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q for %q%s; see '%s --help'", name, cmd.CommandPath(), hint,
		cmd.CommandPath())
}

// Arguments returns a check for the number of arguments of a native command. Its error has the
// usage of the command.
func Arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		problem := "an argument is missing"
		switch {
		case len(args) > most:
			problem = fmt.Sprintf("%q is one argument too many", args[most])
		case len(args) >= least:
			return nil
		}
		return fmt.Errorf("%s; usage: %s", problem, strings.TrimSuffix(cmd.UseLine(), " [flags]"))
	}
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
