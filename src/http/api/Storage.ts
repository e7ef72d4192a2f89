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
import { Bucket, BucketName } from "../../domain/storage/Bucket.ts"
import { CorsRule, CorsRules } from "../../domain/storage/Cors.ts"
import { MetadataChange, ObjectRecord } from "../../domain/storage/Metadata.ts"
import {
  BulkDeleted,
  ContentType,
  ExpiresIn,
  KeyPrefix,
  maxKeys,
  ObjectKey,
  ObjectPage
} from "../../domain/storage/Object.ts"
import { BucketPolicy } from "../../domain/storage/Policy.ts"
import { isStorable } from "../../domain/text/StorableText.ts"
import { CompletedParts, PartNumber, UploadedPart, UploadId } from "../../domain/storage/Upload.ts"
import { Management, ServiceRole } from "../access/Access.ts"
import { Utf8Bodies } from "../front/Utf8Bodies.ts"
import { Success } from "../wire/Body.ts"

/** What every call can fail with: the store has its own opinion on anything. */
const error = [InvalidRequest, Forbidden, NotFound, Conflict, BadGateway, Unavailable, GatewayTimeout] as const

const created = HttpApiSchema.status(201)
const says = (summary: string, description?: string) =>
  OpenApi.annotations(description === undefined ? { summary } : { summary, description })

const bucket = { bucket: BucketName }
const Buckets = Schema.Struct({ buckets: Schema.Array(Bucket) })
const Policy = Schema.Struct({ policy: Schema.NullOr(BucketPolicy) })
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
    }).annotateMerge(
      says("Delete a bucket", "An empty one; with `force=true` any, after everything in it is deleted.")
    ),
    HttpApiEndpoint.get("policy", "/:bucket/policy", { params: bucket, success: Policy, error }).annotateMerge(
      says("The bucket's policy; null when there is none")
    ),
    HttpApiEndpoint.put("setPolicy", "/:bucket/policy", {
      params: bucket,
      payload: Policy,
      success: Policy,
      error
    }).annotateMerge(says("Set the bucket's policy; null takes it away")),
    HttpApiEndpoint.get("cors", "/:bucket/cors", { params: bucket, success: Cors, error }).annotateMerge(
      says("The bucket's CORS rules")
    ),
    HttpApiEndpoint.put("setCors", "/:bucket/cors", {
      params: bucket,
      payload: Schema.Struct({ corsRules: CorsRules }),
      success: Cors,
      error
    }).annotateMerge(says("Set the bucket's CORS rules; [] takes them away"))
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/storage/buckets")
  .annotateMerge(OpenApi.annotations({ title: "Storage: buckets", description: "Buckets, policies, CORS rules" })) {}

const key = ObjectKey
const isWhole = Schema.makeFilter((text: string) => text.isWellFormed() || "Expected text without half surrogate pairs")
const expiresIn = Schema.optionalKey(ExpiresIn)
const Presigned = Schema.Struct({ url: Schema.String, expires_at: Schema.String })

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
      says("List objects by key", "With `delimiter`, what stands before it is told once, in `common_prefixes`.")
    ),
    HttpApiEndpoint.delete("remove", "/", {
      params: bucket,
      query: { key: Schema.optionalKey(key) },
      payload: [Schema.Struct({ key: Schema.optionalKey(key) }), Schema.Void],
      success: Success,
      error
    }).annotateMerge(
      says("Delete an object", "`key` in the body, or in the query. A key that is not there is no error.")
    ),
    HttpApiEndpoint.post("presignUpload", "/presign-upload", {
      params: bucket,
      payload: Schema.Struct({ key, contentType: ContentType, expiresIn }),
      success: Schema.Struct({ ...Presigned.fields, headers: Schema.Record(Schema.String, Schema.String) }),
      error
    }).annotateMerge(says("A URL to PUT the object to, with the headers that the PUT must have")),
    HttpApiEndpoint.post("presignDownload", "/presign-download", {
      params: bucket,
      payload: Schema.Struct({ key, expiresIn }),
      success: Presigned,
      error
    }).annotateMerge(says("A URL to GET the object from")),
    HttpApiEndpoint.post("uploadText", "/upload-text", {
      params: bucket,
      payload: Schema.Struct({ key, content: Schema.String.check(isWhole), contentType: ContentType }),
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
        "The object's metadata in headers",
        "Content-Length, Content-Type, ETag, Last-Modified, X-Amz-Meta-*; Content-Disposition and the like when set."
      )
    ),
    HttpApiEndpoint.patch("setMetadata", "/metadata", {
      params: bucket,
      payload: MetadataChange,
      success: ObjectRecord,
      error
    }).annotateMerge(says("Change metadata: names given are set, null takes one away, all others stay"))
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/storage/buckets/:bucket/objects")
  .annotateMerge(OpenApi.annotations({ title: "Storage: objects", description: "Objects and presigned URLs" })) {}

const upload = { key, uploadId: UploadId }

/** Uploads in parts (spec: Storage). */
export class StorageUploadsApi extends HttpApiGroup.make("storageUploads")
  .add(
    HttpApiEndpoint.post("create", "/init", {
      params: bucket,
      payload: Schema.Struct({ key, contentType: ContentType }),
      success: Schema.Struct({ uploadId: Schema.String, key: Schema.String, bucket: Schema.String }).pipe(created),
      error
    }).annotateMerge(says("Begin an upload in parts")),
    HttpApiEndpoint.post("presignPart", "/presign-part", {
      params: bucket,
      payload: Schema.Struct({ ...upload, partNumber: PartNumber, expiresIn }),
      success: Presigned,
      error
    }).annotateMerge(says("A URL to PUT a part to; its answer has the part's ETag")),
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
    }).annotateMerge(says("The parts that have arrived")),
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
    }).annotateMerge(says("Make the object of its parts")),
    HttpApiEndpoint.post("abort", "/abort", {
      params: bucket,
      payload: Schema.Struct(upload),
      success: Success,
      error
    }).annotateMerge(says("Give an upload up; its parts are deleted"))
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/storage/buckets/:bucket/objects/multipart")
  .annotateMerge(OpenApi.annotations({ title: "Storage: uploads in parts", description: "For large objects" })) {}

/** The bucket list for callers of the client API. */
export class ClientStorageApi extends HttpApiGroup.make("clientStorage")
  .add(
    HttpApiEndpoint.get("list", "/v1/storage/buckets", { success: Buckets, error }).annotateMerge(says("List buckets"))
  )
  .middleware(ServiceRole)
  .annotateMerge(OpenApi.annotations({ title: "Storage (client API)", description: "Management read" })) {}
