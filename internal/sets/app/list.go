package app

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// GroupName identifies a group of apps.
type GroupName struct {
	Name      string
	Namespace string // of the records
}

// GroupApps returns the apps of a group, sorted by name.
func (c *Client) GroupApps(ctx context.Context, group GroupName) ([]*App, error) {
	selector := labels.Set{resource.LabelAppGroup: group.Name}.AsSelector()
	apps, err := c.Records.List(ctx, group.Namespace, selector)
	slices.SortStableFunc(apps, func(a, b *App) int { return strings.Compare(a.Name, b.Name) })
	return apps, err
}
