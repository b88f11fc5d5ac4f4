package kapp

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/compat/kapp/deploy"
	"github.com/muster-deploy/muster/internal/compat/kapp/ui"
	"github.com/muster-deploy/muster/internal/sets/input"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/preflight"
)

// deployCommand is the command deploy with its flags.
type deployCommand struct {
	app    appFlags
	files  fileFlags
	diff   diffFlags
	filter filterFlags
	apply  applyFlags
	deploy deployFlags
	kinds  kindFlags
	labels []string
	prev   string
	checks checkList
}

func (p *program) newDeploy() *cobra.Command {
	d := &deployCommand{}
	cmd := &cobra.Command{
		Use:     "deploy",
		Aliases: []string{"d", "dep"},
		Short:   "Deploy app",
		Long: `Deploy app: make the resources in the cluster what the files say, wait until they are ready, and delete
those of the app that the files do not have any more.` + exitCodes,
		Example: p.named(`  # Deploy app 'web' with the files of a folder
  NAME deploy -a web -f config/

  # Show what would change, and how
  NAME deploy -a web -f config/ --diff-run --diff-changes`),
	}
	d.app.add(cmd)
	d.files.add(cmd)
	d.kinds.add(cmd)
	d.add(cmd)
	cmd.Flags().StringVar(&d.prev, "prev-app", "", "Set previous app name")
	p.lock.Add(cmd.Flags())
	sectioned(cmd)
	return p.command(cmd, true, d.run)
}

// add adds the flags that deploy and app-group deploy share.
func (d *deployCommand) add(cmd *cobra.Command) {
	d.diff.add(cmd, "diff-")
	d.filter.add(cmd)
	d.apply.add(cmd, "", false)
	d.deploy.add(cmd)
	cmd.Flags().
		StringSliceVar(&d.labels, "labels", nil, "Set app label (format: key=val, key=) (can "+
			"repeat)")
	cmd.Flags().
		Var(&d.checks, "preflight",
			"Preflight checks to run: "+strings.Join(preflight.CheckNames(), ", ")+" (can repeat)")
}

// run runs the command.
func (d *deployCommand) run(ctx context.Context, s *session) error {
	if err := d.check(); err != nil {
		return err
	}
	name, err := s.open(ctx, d.app)
	if err != nil {
		return err
	}
	request, err := d.request(s)
	if err != nil {
		return err
	}
	request.App = name
	result, err := s.apps.Deploy(ctx, request)
	switch {
	case err != nil:
		return err
	case d.diff.run && d.diff.exitStatus:
		return ui.DiffExit(result.Changes > 0)
	case d.apply.exitStatus:
		return ui.ApplyExit(result.Changes > 0)
	}
	return nil
}

// check validates the flags.
func (d *deployCommand) check() error {
	if err := checkKept("app-changes-max-to-keep", d.deploy.changesToKeep); err != nil {
		return err
	}
	return d.apply.check()
}

// request returns the request of the flags, without the name of the app.
func (d *deployCommand) request(s *session) (deploy.DeployRequest, error) {
	labels, err := parseLabels(d.labels)
	request := deploy.DeployRequest{
		PrevName: d.prev, Labels: labels,
		Input: s.inputsToDeploy(d.files.files),
		Preparation: input.Preparation{
			IntoNs: d.deploy.intoNs, MapNs: d.deploy.mapNs, AllowCheck: d.deploy.allowCheck,
			AllowNs: d.deploy.allowNs, AllowAllNs: d.deploy.allowAllNs,
			AllowCluster: d.deploy.allowCluster,
		},
		Filter: d.filter.Flags, Patch: d.deploy.patch, AllowEmpty: d.deploy.allowEmpty,
		Search: d.kinds.options(), AllKinds: d.deploy.allKinds,
		Adopt: d.deploy.adopts, OverrideOwnership: d.deploy.overrides,
		AdoptFrom:      d.deploy.adoptFrom,
		ScopeSelectors: d.deploy.defaultScoping,
		Review:         s.review(d.diff, d.apply), Run: s.runOptions(d.diff, d.apply, d.kinds),
		Checks:    d.checks,
		Summarize: d.diff.summary, KeepChanges: d.deploy.changesToKeep,
		AllLogs: d.deploy.logsAll,
	}
	if d.deploy.logs {
		request.Logs = logPrinter{ui.Logs{UI: s.ui, Prefix: "logs", Tagged: true}}
	}
	if file := d.deploy.metadataFile; file != "" {
		request.SaveMetadata = func(json string) error {
			return os.WriteFile(file, []byte(json),
				0o777)
		}
	}
	return request, err
}

// parseLabels parses the labels of an app's record.
func parseLabels(texts []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, text := range texts {
		key, value, ok := strings.Cut(text, "=")
		switch {
		case !ok:
			return nil, fmt.Errorf("Expected label '%s' to be in format 'key=val' or 'key='", text)
		case key == "":
			return nil, fmt.Errorf("Expected label '%s' to have non-empty key", text)
		}
		labels[key] = value
	}
	return labels, nil
}

func (p *program) newDeployConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use: "deploy-config", Short: "Show default deploy config",
		Long: `Show default deploy config: the rules for resources of the usual kinds, in the ` +
			`language of Config documents.`,
	}
	return p.command(cmd, false, func(_ context.Context, s *session) error {
		s.ui.Block(config.DefaultText())
		return nil
	})
}
