package packages

// The annotations by which tools that work on files record where an object came from.
const (
	localConfigKey = "config.kubernetes.io/local-config"

	internalPrefix = "internal.config.kubernetes.io/"
	PathKey        = internalPrefix + "path"
	LegacyPathKey  = "config.kubernetes.io/path"
	legacyIndexKey = "config.kubernetes.io/index"
)
