package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

func kubeconfigCommand(t *target) *cobra.Command {
	raw := false
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the administrator's kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := t.open()
			if err != nil {
				return err
			}
			if raw {
				return printFile(cmd.OutOrStdout(), p.Kubeconfig())
			}
			fmt.Fprintln(cmd.OutOrStdout(), p.Kubeconfig())
			return nil
		},
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "print the kubeconfig itself")
	return cmd
}

func logsCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "logs COMPONENT",
		Short: "Print the log of a component",
		Long: "Prints the log of a component since its last start. The log of the start before is\n" +
			"in the same folder, as COMPONENT.previous.log.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := t.open()
			if err != nil {
				return err
			}
			path, err := p.Log(args[0])
			if err != nil {
				return err
			}
			return printFile(cmd.OutOrStdout(), path)
		},
	}
}

func printFile(out io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(out, file)
	return err
}
