package inventory

import (
	"bytes"
	"errors"
	"reflect"

	"sigs.k8s.io/yaml"
)

// StripInventory returns the text of a Kptfile without the lines of its inventory section: from its
// key to the next line that is not indented. It checks that nothing else is lost.
func StripInventory(data []byte) ([]byte, error) {
	var kept []byte
	inside := false
	for line := range bytes.Lines(data) {
		if outer := len(bytes.TrimSpace(line)) > 0 && line[0] != ' '; outer {
			inside = bytes.HasPrefix(line, []byte("inventory:"))
		}
		if !inside {
			kept = append(kept, line...)
		}
	}
	var before, after map[string]any
	if err := yaml.Unmarshal(data, &before); err != nil {
		return nil, err
	}
	delete(before, "inventory")
	if err := yaml.Unmarshal(kept, &after); err != nil || !reflect.DeepEqual(before, after) {
		return nil, errors.New("cannot tell which lines the section inventory has; remove it by hand")
	}
	return kept, nil
}
