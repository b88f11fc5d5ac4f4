package resource

// The labels and annotations of kapp; docs/apps.md describes those for users. Those that only rules
// name are in the built-in rules. The last one is kubectl's.
const (
	domain = "kapp.k14s.io/"

	LabelApp              = domain + "app"         // the value of the owning app
	LabelAssociation      = domain + "association" // Association of the object, or of its owner
	LabelOrphaned         = domain + "orphaned"
	LabelIsApp            = domain + "is-app"
	LabelAppGroup         = domain + "app-group"
	LabelIsAppChange      = domain + "is-app-change"
	LabelAppChangeApp     = domain + "app-change-app"       // by name
	LabelAppChangeByLabel = domain + "app-change-app-label" // by the value of LabelApp
	LabelConfig           = domain + "config"

	AnnChangesUseLabel = domain + "app-changes-use-app-label"
	AnnMigrated        = domain + "is-configmap-migrated"

	AnnIdentity         = domain + "identity"
	AnnOriginal         = domain + "original"
	AnnOriginalDiffMD5  = domain + "original-diff-md5"  // of old versions; removed
	AnnOriginalDiff     = domain + "original-diff"      // of old versions; removed
	AnnOriginalDiffFull = domain + "original-diff-full" // the same
	AnnDisableOriginal  = domain + "disable-original"

	AnnNonce            = domain + "nonce"
	AnnRenewDuration    = domain + "renew-duration"
	AnnLastRenewed      = domain + "last-renewed-time"
	AnnExists           = domain + "exists"
	AnnNoop             = domain + "noop"
	AnnCreateStrategy   = domain + "create-strategy"
	AnnUpdateStrategy   = domain + "update-strategy"
	AnnDeleteStrategy   = domain + "delete-strategy"
	AnnOwnedForDeletion = domain + "owned-for-deletion"

	AnnVersioned         = domain + "versioned"
	AnnVersionedKeep     = domain + "versioned-keep-original"
	AnnNumVersions       = domain + "num-versions"
	AnnVersionedExplicit = domain + "versioned-explicit-ref" // and with a suffix after a dot

	AnnChangeGroup = domain + "change-group" // and with a suffix after a dot
	AnnChangeRule  = domain + "change-rule"  // and with a suffix after a dot

	AnnDisableWait          = domain + "disable-wait"
	AnnDisableChildrenWait  = domain + "disable-associated-resources-wait"
	AnnMinimumAvailable     = domain + "apps-v1-deployment-wait-minimum-replicas-available"
	AnnDeployLogs           = domain + "deploy-logs"
	AnnDeployLogsContainers = domain + "deploy-logs-container-names"

	AnnKubectlApplied = "kubectl.kubernetes.io/last-applied-configuration" // what kubectl applied
)

// Bookkeeping are the annotations in which kapp records what it applied.
var Bookkeeping = [...]string{
	AnnIdentity, AnnOriginal, AnnOriginalDiffMD5, AnnOriginalDiff, AnnOriginalDiffFull,
}
