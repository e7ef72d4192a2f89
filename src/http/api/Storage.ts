import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  BadGateway,
  Conflict,
  Forbidden,
  GatewayTimeout,
  InvalidRequest,
  NotFound,
  Unavailable
} from "../../domain/errors.ts"
import { Bucket, BucketName, BucketPolicy, CorsRule, CorsRules } from "../../domain/storage/Bucket.ts"
import { MetadataChange, ObjectRecord } from "../../domain/storage/Metadata.ts"
import {
  BulkDeleted,
  CompletedParts,
  ContentType,
  ExpiresIn,
  KeyPrefix,
  ObjectKey,
  ObjectPage,
  ObjectTags,
  PartNumber,
  UploadId,
  UploadPage,
  UploadSize,
  UploadToken,
  UploadedPart,
  UrlKey,
  maxKeys
} from "../../domain/storage/Object.ts"
import { isStorable } from "../../domain/text/StorableText.ts"
import { Management, ServiceRole } from "../access/Access.ts"
import { BranchObjects } from "../storage/BranchObjects.ts"
import { Success, Utf8Bodies } from "../wire/Body.ts"

/** Errors of every endpoint: the store may reject any request. */
const error = [InvalidRequest, Forbidden, NotFound, Conflict, BadGateway, Unavailable, GatewayTimeout] as const

const created = HttpApiSchema.status(201)
const says = (summary: string, description?: string) =>
  OpenApi.annotations(description === undefined ? { summary } : { summary, description })

const bucket = { bucket: BucketName }
const Buckets = Schema.Struct({ buckets: Schema.Array(Bucket) })
const Policy = Schema.Struct({ policy: Schema.NullOr(BucketPolicy) })
const Tags = Schema.Struct({ key: Schema.String, tags: ObjectTags })
const Cors = Schema.Struct({ corsRules: Schema.Array(CorsRule) })

/** Buckets, their policies and CORS rules (spec: Storage). */
export class StorageApi extends HttpApiGroup.make("storage")
  .add(
    HttpApiEndpoint.get("list", "/", { success: Buckets, error }).annotateMerge(says("List buckets")),
    HttpApiEndpoint.post("create", "/", {
      payload: Schema.Struct({ name: BucketName }),
      success: Bucket.pipe(created),
      error
    }).annotateMerge(says("Create a bucket")),
    HttpApiEndpoint.delete("remove", "/:bucket", {
      params: bucket,
      query: { force: Schema.optionalKey(Schema.Literals(["true", "false"])) },
      success: Success,
      error
    }).annotateMerge(says("Delete a bucket", "The bucket must be empty; `force=true` deletes everything in it first.")),
    HttpApiEndpoint.get("policy", "/:bucket/policy", { params: bucket, success: Policy, error }).annotateMerge(
      says("Get the bucket's policy; null if it has none")
    ),
    HttpApiEndpoint.put("setPolicy", "/:bucket/policy", {
      params: bucket,
      payload: Policy,
      success: Policy,
      error
    }).annotateMerge(says("Set the bucket's policy; null deletes it")),
    HttpApiEndpoint.get("cors", "/:bucket/cors", { params: bucket, success: Cors, error }).annotateMerge(
      says("Get the bucket's CORS rules")
    ),
    HttpApiEndpoint.put("setCors", "/:bucket/cors", {
      params: bucket,
      payload: Schema.Struct({ corsRules: CorsRules }),
      success: Cors,
      error
    }).annotateMerge(says("Set the bucket's CORS rules; [] deletes them"))
  )
  .middleware(Utf8Bodies)
  .middleware(BranchObjects)
  .middleware(Management)
  .prefix("/api/storage/buckets")
  .annotateMerge(OpenApi.annotations({ title: "Storage: buckets", description: "Buckets, policies, CORS rules" })) {}

const key = ObjectKey
const urlKey = UrlKey
const isWhole = Schema.makeFilter((text: string) => text.isWellFormed() || "Expected text without unpaired surrogates")
const expiresIn = Schema.optionalKey(ExpiresIn)
const Presigned = Schema.Struct({ url: Schema.String, expires_at: Schema.String })
const PresignedUpload = Schema.Struct({
  ...Presigned.fields,
  headers: Schema.Record(Schema.String, Schema.String)
})

/** Objects (spec: Storage). */
export class StorageObjectsApi extends HttpApiGroup.make("storageObjects")
  .add(
    HttpApiEndpoint.get("list", "/", {
      params: bucket,
      query: {
        prefix: Schema.optionalKey(KeyPrefix),
        delimiter: Schema.optionalKey(KeyPrefix.check(Schema.isMinLength(1))),
        max_keys: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxKeys }))),
        continuation_token: Schema.optionalKey(Schema.NonEmptyString.check(isStorable))
      },
      success: ObjectPage,
      error
    }).annotateMerge(
      says("List objects by key", "With `delimiter`, keys that contain it are grouped into `common_prefixes`.")
    ),
    HttpApiEndpoint.delete("remove", "/", {
      params: bucket,
      query: { key: Schema.optionalKey(key) },
      payload: [Schema.Struct({ key: Schema.optionalKey(key) }), Schema.Void],
      success: Success,
      error
    }).annotateMerge(
      says("Delete an object", "`key` in the body or in the query. Succeeds if the object does not exist.")
    ),
    HttpApiEndpoint.post("presignUpload", "/presign-upload", {
      params: bucket,
      payload: Schema.Struct({
        key: urlKey,
        contentType: ContentType,
        expiresIn,
        size: Schema.optionalKey(UploadSize)
      }),
      success: PresignedUpload,
      error
    }).annotateMerge(
      says(
        "Get a presigned URL to PUT the object to, with the headers that the PUT must send",
        "With `size`, the upload must have exactly that many bytes."
      )
    ),
    HttpApiEndpoint.post("presignUploads", "/presign-uploads", {
      params: bucket,
      payload: Schema.Struct({
        files: Schema.Array(
          Schema.Struct({ key: urlKey, contentType: ContentType, size: Schema.optionalKey(UploadSize) })
        ).check(Schema.isMinLength(1), Schema.isMaxLength(maxKeys)),
        expiresIn
      }),
      success: Schema.Struct({ files: Schema.Array(Schema.Struct({ key: Schema.String, ...PresignedUpload.fields })) }),
      error
    }).annotateMerge(
      says("Get presigned URLs for up to 1000 objects", "In the order of `files`; see `presign-upload` for one.")
    ),
    HttpApiEndpoint.post("presignDownload", "/presign-download", {
      params: bucket,
      payload: Schema.Struct({ key: urlKey, expiresIn }),
      success: Presigned,
      error
    }).annotateMerge(says("Get a presigned URL to GET the object from")),
    HttpApiEndpoint.post("uploadText", "/upload-text", {
      params: bucket,
      payload: Schema.Struct({ key: urlKey, content: Schema.String.check(isWhole), contentType: ContentType }),
      success: Schema.Struct({ bucket: Schema.String, key: Schema.String, size: Schema.Int, etag: Schema.String }).pipe(
        created
      ),
      error
    }).annotateMerge(says("Upload a small text, stored as UTF-8")),
    HttpApiEndpoint.post("bulkDelete", "/bulk-delete", {
      params: bucket,
      payload: Schema.Struct({ keys: Schema.Array(key).check(Schema.isMinLength(1), Schema.isMaxLength(maxKeys)) }),
      success: BulkDeleted,
      error
    }).annotateMerge(says("Delete up to 1000 objects")),
    HttpApiEndpoint.head("metadata", "/metadata", {
      params: bucket,
      query: { key },
      success: HttpApiSchema.Empty(200),
      error
    }).annotateMerge(
      says(
        "Get the object's metadata as headers",
        "Content-Length, Content-Type, ETag, Last-Modified, X-Amz-Meta-*; Content-Disposition, -Encoding and -Language if set."
      )
    ),
    HttpApiEndpoint.patch("setMetadata", "/metadata", {
      params: bucket,
      payload: MetadataChange,
      success: ObjectRecord,
      error
    }).annotateMerge(says("Change metadata: sets the given names, deletes those set to null, keeps all others")),
    HttpApiEndpoint.get("tags", "/tags", { params: bucket, query: { key }, success: Tags, error }).annotateMerge(
      says("Get the object's tags")
    ),
    HttpApiEndpoint.put("setTags", "/tags", {
      params: bucket,
      payload: Schema.Struct({ key, tags: ObjectTags }),
      success: Tags,
      error
    }).annotateMerge(says("Replace the object's tags"))
  )
  .middleware(Utf8Bodies)
  .middleware(BranchObjects)
  .middleware(Management)
  .prefix("/api/storage/buckets/:bucket/objects")
  .annotateMerge(OpenApi.annotations({ title: "Storage: objects", description: "Objects and presigned URLs" })) {}

const upload = { key, uploadId: UploadId }

/** Multipart uploads (spec: Storage). */
export class StorageUploadsApi extends HttpApiGroup.make("storageUploads")
  .add(
    HttpApiEndpoint.get("list", "/uploads", {
      params: bucket,
      query: {
        prefix: Schema.optionalKey(KeyPrefix),
        max_uploads: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxKeys }))),
        continuation_token: Schema.optionalKey(UploadToken)
      },
      success: UploadPage,
      error
    }).annotateMerge(says("List the open uploads by key")),
    HttpApiEndpoint.post("create", "/init", {
      params: bucket,
      payload: Schema.Struct({ key: urlKey, contentType: ContentType }),
      success: Schema.Struct({ uploadId: Schema.String, key: Schema.String, bucket: Schema.String }).pipe(created),
      error
    }).annotateMerge(says("Start a multipart upload")),
    HttpApiEndpoint.post("presignPart", "/presign-part", {
      params: bucket,
      payload: Schema.Struct({ ...upload, key: urlKey, partNumber: PartNumber, expiresIn }),
      success: Presigned,
      error
    }).annotateMerge(says("Get a presigned URL to PUT a part to; the response to the PUT has the part's ETag")),
    HttpApiEndpoint.get("parts", "/parts", {
      params: bucket,
      query: upload,
      success: Schema.Struct({
        bucket: Schema.String,
        key: Schema.String,
        uploadId: Schema.String,
        parts: Schema.Array(UploadedPart)
      }),
      error
    }).annotateMerge(says("List the parts uploaded so far")),
    HttpApiEndpoint.post("complete", "/complete", {
      params: bucket,
      payload: Schema.Struct({ ...upload, parts: CompletedParts }),
      success: Schema.Struct({
        bucket: Schema.String,
        key: Schema.String,
        etag: Schema.String,
        location: Schema.String
      }),
      error
    }).annotateMerge(says("Complete the upload: create the object from its parts")),
    HttpApiEndpoint.post("abort", "/abort", {
      params: bucket,
      payload: Schema.Struct(upload),
      success: Success,
      error
    }).annotateMerge(says("Abort the upload and delete its parts"))
  )
  .middleware(Utf8Bodies)
  .middleware(BranchObjects)
  .middleware(Management)
  .prefix("/api/storage/buckets/:bucket/objects/multipart")
  .annotateMerge(OpenApi.annotations({ title: "Storage: multipart uploads", description: "For large objects" })) {}

/** The list of buckets in the client API. */
export class ClientStorageApi extends HttpApiGroup.make("clientStorage")
  .add(
    HttpApiEndpoint.get("list", "/v1/storage/buckets", { success: Buckets, error }).annotateMerge(says("List buckets"))
  )
  .middleware(BranchObjects)
  .middleware(ServiceRole)
  .annotateMerge(OpenApi.annotations({ title: "Storage (client API)", description: "Management read" })) {}
