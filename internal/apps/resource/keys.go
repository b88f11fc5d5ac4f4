package resource

// The labels and annotations of kapp, which begin with kapp.k14s.io/: what users need of them stands in docs/apps.md. Those that
// only rules name are in the built-in rules. The last one is kubectl's.
const (
	domain = "kapp.k14s.io/"

	LabelApp              = domain + "app"         // the value of the app that owns the object
	LabelAssociation      = domain + "association" // Association of the object that it, or its maker, was deployed as
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
	AnnOriginalDiffMD5  = domain + "original-diff-md5"
	AnnOriginalDiff     = domain + "original-diff"      // of old versions: never written, taken out of what is read
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
	AnnDisableChildrenWait  = domain + "disable-associated-resources-wait"                  // judged and told of by itself
	AnnMinimumAvailable     = domain + "apps-v1-deployment-wait-minimum-replicas-available" // of a Deployment
	AnnDeployLogs           = domain + "deploy-logs"
	AnnDeployLogsContainers = domain + "deploy-logs-container-names"

	AnnKubectlApplied = "kubectl.kubernetes.io/last-applied-configuration" // what kubectl applied last, in full
)
