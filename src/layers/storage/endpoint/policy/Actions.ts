import { matchesWildcards } from "./Wildcards.ts"

/** What bucket policies can speak of: actions on a bucket … */
const onBuckets = [
  "CreateBucket DeleteBucket DeleteBucketPolicy DeleteBucketWebsite GetAccelerateConfiguration GetAnalyticsConfiguration",
  "GetBucketAcl GetBucketCORS GetBucketLocation GetBucketLogging GetBucketNotification GetBucketObjectLockConfiguration",
  "GetBucketOwnershipControls GetBucketPolicy GetBucketPolicyStatus GetBucketPublicAccessBlock GetBucketRequestPayment",
  "GetBucketTagging GetBucketVersioning GetBucketWebsite GetEncryptionConfiguration GetIntelligentTieringConfiguration",
  "GetInventoryConfiguration GetLifecycleConfiguration GetMetricsConfiguration GetReplicationConfiguration ListBucket",
  "ListBucketMultipartUploads ListBucketVersions PutAccelerateConfiguration PutAnalyticsConfiguration PutBucketAcl",
  "PutBucketCORS PutBucketLogging PutBucketNotification PutBucketObjectLockConfiguration PutBucketOwnershipControls",
  "PutBucketPolicy PutBucketPublicAccessBlock PutBucketRequestPayment PutBucketTagging PutBucketVersioning",
  "PutBucketWebsite PutEncryptionConfiguration PutIntelligentTieringConfiguration PutInventoryConfiguration",
  "PutLifecycleConfiguration PutMetricsConfiguration PutReplicationConfiguration"
].flatMap((line) => line.split(" "))

/** … and on objects. */
const onObjects = [
  "AbortMultipartUpload BypassGovernanceRetention DeleteObject DeleteObjectTagging DeleteObjectVersion",
  "DeleteObjectVersionTagging GetObject GetObjectAcl GetObjectAttributes GetObjectLegalHold GetObjectRetention",
  "GetObjectTagging GetObjectTorrent GetObjectVersion GetObjectVersionAcl GetObjectVersionAttributes",
  "GetObjectVersionForReplication GetObjectVersionTagging GetObjectVersionTorrent ListMultipartUploadParts",
  "ObjectOwnerOverrideToBucketOwner PutObject PutObjectAcl PutObjectLegalHold PutObjectRetention PutObjectTagging",
  "PutObjectVersionAcl PutObjectVersionTagging ReplicateDelete ReplicateObject ReplicateTags RestoreObject"
].flatMap((line) => line.split(" "))

const lower = (names: ReadonlyArray<string>) => names.map((name) => `s3:${name}`.toLowerCase())
const bucketActions = lower(onBuckets)
const objectActions = lower(onObjects)

/** What the actions of this form (lower case, with wildcards) are done to. Both false when there are none. */
export const actionTargets = (pattern: string) => ({
  bucket: bucketActions.some((action) => matchesWildcards(pattern, action)),
  object: objectActions.some((action) => matchesWildcards(pattern, action))
})
