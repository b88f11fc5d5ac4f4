package sets

import (
	"errors"
	"fmt"

	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// checkScripts returns an error for each overlay in ytt of an app, which may change anything in an
// object and so says nothing to a merge of three sides; if the request refuses scripts, for each
// document with rules in ytt.
func (r Request) checkScripts(objects []manifest.Object) error {
	all := make([]resource.Resource, len(objects))
	for i, obj := range objects {
		all[i] = resource.Resource{Unstructured: obj.Unstructured, Origin: obj.Origin.String()}
	}
	_, rules, err := config.Extract(all, app.ConfigVersion)
	if err != nil {
		return err
	}
	if r.NoScripts {
		return r.checkRules(rules)
	}
	var errs []error
	for _, rule := range rules.Overlays() {
		errs = append(errs, fmt.Errorf("%s is an overlay in ytt (overlayContractV1), which is not run "+
			"here: `muster kapp deploy` honours it; use rebase rules with paths", rule))
	}
	return errors.Join(errs...)
}

// checkRules returns an error for each document with rules in ytt, if the request refuses them.
func (r Request) checkRules(rules *config.Config) error {
	if !r.NoScripts {
		return nil
	}
	var errs []error
	for _, document := range rules.Scripts() {
		errs = append(errs, fmt.Errorf("%s: it has rules in ytt, which are not run here, since a "+
			"script takes as much memory as it likes; use rebase rules with paths, wait rules with "+
			"conditionMatchers, or readiness rules", document))
	}
	return errors.Join(errs...)
}
