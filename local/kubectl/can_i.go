package kubectl

import (
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd/auth"
	"k8s.io/kubectl/pkg/cmd/util"
)

// replaceCanI replaces the function of "auth can-i", which ends the process if the answer is no.
func replaceCanI(kubectl *cobra.Command, factory util.Factory, streams genericiooptions.IOStreams) {
	command, _, err := kubectl.Find([]string{"auth", "can-i"})
	util.CheckErr(err)
	command.Run = func(command *cobra.Command, args []string) {
		options := &auth.CanIOptions{IOStreams: streams}
		flags := command.Flags()
		options.AllNamespaces, _ = flags.GetBool("all-namespaces")
		options.Quiet, _ = flags.GetBool("quiet")
		options.Subresource, _ = flags.GetString("subresource")
		options.List, _ = flags.GetBool("list")
		options.NoHeaders, _ = flags.GetBool("no-headers")
		util.CheckErr(options.Complete(factory, args))
		util.CheckErr(options.Validate())
		if options.List {
			util.CheckErr(options.RunAccessList())
			return
		}
		allowed, err := options.RunAccessCheck()
		util.CheckErr(err)
		if !allowed {
			panic(ended{code: 1})
		}
	}
}
