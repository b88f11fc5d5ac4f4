package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/muster-deploy/muster/internal/base/yamltext"
)

// The output formats of documents.
const (
	OutputJSON = "json"
	OutputYAML = "yaml"
)

// Encode prints a value as indented JSON, or as YAML with the same keys.
func Encode(out io.Writer, format string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if format == OutputYAML {
		if text, err = yamltext.FromJSON(text); err != nil {
			return err
		}
	}
	if _, err := Raw(out).Write(text); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}
