package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-deploy/muster/internal/sets/app"
)

// GroupMember is an app of a group and the folder that describes it.
type GroupMember struct{ Name, Folder string }

// DeployGroupRequest asks to deploy a group of apps.
type DeployGroupRequest struct {
	Group     app.GroupName
	Directory string // of the members
	// the apps to deploy; other apps of the group are deleted
	Members    []GroupMember
	AllowEmpty bool // delete the group if it has no members
	// connects the client, once a line has named the first app
	Connect func(context.Context) error
	Deploy  DeployRequest // for each member, without its name and input
	Delete  DeleteRequest // for each other app, without its name
}

// GroupResult reports whether a group has changed.
type GroupResult struct{ Deployed, Deleted bool }

// DeployGroup deploys the members of a group one after the other, and deletes its other apps.
func (c *Client) DeployGroup(
	ctx context.Context, r DeployGroupRequest,
) (result GroupResult, err error) {
	if len(r.Members) == 0 {
		if err := r.Connect(ctx); err != nil {
			return result, err
		}
		if err := c.checkEmptyGroup(ctx, r); err != nil {
			return result, err
		}
	}
	for _, member := range r.Members {
		c.Printer.Line(
			fmt.Sprintf("--- deploying app '%s' (namespace: %s) from %s", member.Name, r.Group.Namespace,
				member.Folder),
		)
		if err := r.Connect(ctx); err != nil {
			return result, err
		}
		one := r.Deploy
		one.App, one.Group = app.Name{Name: member.Name, Namespace: r.Group.Namespace}, r.Group.Name
		one.Input.Files = []string{member.Folder}
		deployed, err := c.Deploy(ctx, one)
		if err != nil {
			return result, err
		}
		result.Deployed = result.Deployed || deployed.Changes > 0
	}
	other := func(a *app.App) bool {
		return !slices.ContainsFunc(r.Members, func(m GroupMember) bool { return m.Name == a.Name })
	}
	result.Deleted, err = c.deleteApps(ctx, r.Group, r.Delete, other)
	return result, err
}

// checkEmptyGroup refuses to deploy a directory without folders if the group has apps.
func (c *Client) checkEmptyGroup(ctx context.Context, r DeployGroupRequest) error {
	if r.AllowEmpty {
		return nil
	}
	apps, err := c.GroupApps(ctx, r.Group)
	if err != nil || len(apps) == 0 {
		return err
	}
	names := make([]string, len(apps))
	for i, one := range apps {
		names[i] = one.Name
	}
	return fmt.Errorf(
		"Directory '%s' has no folders, so that all apps of group '%s' would be deleted: %s. "+
			"Refusing to continue unless --dangerous-allow-empty-list-of-resources is specified "+
			"(hint: app-group delete deletes a group)",
		r.Directory,
		r.Group.Name,
		strings.Join(names, ", "),
	)
}

// DeleteGroup deletes all apps of a group, each as the request says but for its name. It reports
// whether there were any.
func (c *Client) DeleteGroup(
	ctx context.Context, group app.GroupName, r DeleteRequest,
) (deleted bool, err error) {
	return c.deleteApps(ctx, group, r, func(*app.App) bool { return true })
}

// deleteApps deletes the matching apps of a group.
func (c *Client) deleteApps(
	ctx context.Context, group app.GroupName, r DeleteRequest, matches func(*app.App) bool,
) (deleted bool, err error) {
	apps, err := c.GroupApps(ctx, group)
	if err != nil {
		return false, err
	}
	for _, one := range apps {
		if !matches(one) {
			continue
		}
		deleted = true
		c.Printer.Line(fmt.Sprintf("--- deleting app '%s' (namespace: %s)", one.Name,
			group.Namespace))
		request := r
		request.App = app.Name{Name: one.Name, Namespace: group.Namespace}
		if _, err := c.Delete(ctx, request); err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}
