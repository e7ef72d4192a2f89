import { Effect } from "effect"
import { authorize } from "../Authorization.ts"
import { type Algorithm, makeHasher, namedAlgorithm } from "../Checksums.ts"
import { type Exchange, hiddenFrom, type S3Operation, versionHeader, xmlReply } from "../Exchange.ts"
import { checkKey } from "../ObjectHeaders.ts"
import { taggedMeta } from "./Objects.ts"
import { maximumPut } from "../Payload.ts"
import { type ObjectRange, precondition, writeCondition } from "../Preconditions.ts"
import { copySourceHeaders, newObjectHeaders } from "../RequestHeaders.ts"
import { s3Error } from "../Error.ts"
import { type S3Request, tryS3 } from "../Request.ts"
import { type Checksum, type ObjectInfo } from "../store/Model.ts"

type Source = ObjectInfo & {
  readonly bucket: string
  /** The version that the request names. */
  readonly named: string | undefined
  /** Whether the source's bucket has or had versioning. */
  readonly isVersioned: boolean
}

const deleteMarkerSource = s3Error(
  "InvalidRequest",
  "The source of a copy request may not specifically refer to a delete marker by version id."
)

/** The header with the version that was copied. */
export const sourceHeader = ({ isVersioned, versionId }: Source): Readonly<Record<string, string>> =>
  isVersioned ? { "x-amz-copy-source-version-id": versionId ?? "null" } : {}

/** `[/]bucket/key[?versionId=id]`, percent-encoded. Throws InvalidArgument. */
const parseSource = (text: string) => {
  const invalid = (why: string) =>
    s3Error("InvalidArgument", why, { ArgumentName: "x-amz-copy-source", ArgumentValue: text })
  const [path = "", version] = text.replace(/^\//, "").split(/\?versionId=(.*)$/s)
  if (version === "") throw invalid("Version id cannot be the empty string")
  let plain: string
  try {
    plain = decodeURIComponent(path)
  } catch {
    throw invalid("Invalid copy source encoding.")
  }
  const slash = plain.indexOf("/")
  if (slash < 1 || slash === plain.length - 1) throw invalid("Invalid copy source object key")
  return { bucket: plain.slice(0, slash), key: plain.slice(slash + 1), version }
}

/** The object named by x-amz-copy-source, after checking read access and the conditions on it. */
export const copySource = Effect.fnUntraced(function* ({ caller, request, settings, store }: Exchange) {
  const { bucket, key, version } = yield* tryS3(() => parseSource(request.header("x-amz-copy-source") ?? ""))
  if (bucket === hiddenFrom(request, settings)) return yield* s3Error("AccessDenied", "Access Denied")
  const info = yield* store.bucket(bucket)
  const action = version === undefined ? "s3:GetObject" : "s3:GetObjectVersion"
  yield* tryS3(() => authorize({ request, caller }, info, action, key, version))
  const found = yield* Effect.catchIf(
    store.head(bucket, key, version),
    ({ code }) => code === "MethodNotAllowed",
    () => deleteMarkerSource
  )
  return yield* tryS3((): Source => {
    if (precondition(request.header, found, "x-amz-copy-source-") === "not modified")
      throw s3Error("PreconditionFailed")
    return { ...found, bucket, named: version, isVersioned: info.versioning !== undefined }
  })
})

/** A blob with the source's bytes. If `algorithm` is given, they are read to compute a checksum. */
export const copyBytes = Effect.fnUntraced(function* (
  { store }: Exchange,
  source: Source,
  range: ObjectRange | undefined,
  algorithm: Algorithm | undefined
) {
  if (algorithm === undefined || source.size === 0)
    return { blob: yield* store.copy(source, range), checksum: undefined }
  const { info, open } = yield* store.get(source.bucket, source.key, source.versionId ?? "null")
  if (info.etag !== source.etag) return yield* s3Error("OperationAborted")
  const hasher = makeHasher(algorithm)
  const { end, start } = range ?? { start: 0, end: source.size - 1 }
  const blob = yield* store.write(open(start, end), { sink: hasher.update })
  const value = yield* Effect.promise(hasher.value)
  const checksum: Checksum = { algorithm, value, type: "FULL_OBJECT" }
  return { blob, checksum }
})

/** A checksum as elements of an operation's result. */
export const checksumXml = (checksum: Checksum | undefined) =>
  checksum === undefined ? {} : { [`Checksum${checksum.algorithm}`]: checksum.value, ChecksumType: checksum.type }

/** Throws InvalidArgument. */
const directiveOf = ({ header }: S3Request, what: "metadata" | "tagging") => {
  const name = `x-amz-${what}-directive`
  const directive = header(name) ?? "COPY"
  if (directive === "COPY" || directive === "REPLACE") return directive
  throw s3Error("InvalidArgument", `Unknown ${what} directive.`, { ArgumentName: name, ArgumentValue: directive })
}

/** Copying tags needs permission to read and to write them. */
const authorizeTags = Effect.fnUntraced(function* ({ bucketInfo, caller, request, store }: Exchange, source: Source) {
  const from = yield* store.bucket(source.bucket)
  yield* tryS3(() => {
    const action = source.named === undefined ? "s3:GetObjectTagging" : "s3:GetObjectVersionTagging"
    authorize({ request, caller }, from, action, source.key, source.named)
    if (bucketInfo !== undefined) authorize({ request, caller }, bucketInfo, "s3:PutObjectTagging", request.key)
  })
})

export const copyObject: S3Operation = {
  action: "s3:PutObject",
  onBytes: true,
  headers: [
    ...copySourceHeaders,
    ...newObjectHeaders,
    "x-amz-checksum-algorithm",
    "x-amz-metadata-directive",
    "x-amz-tagging-directive"
  ],
  run: Effect.fnUntraced(function* (exchange: Exchange) {
    const { request, store } = exchange
    const plan = yield* tryS3(() => {
      checkKey(request.key)
      const retag = directiveOf(request, "tagging") === "REPLACE"
      if (!retag && request.header("x-amz-tagging") !== undefined) {
        throw s3Error("InvalidRequest", "x-amz-tagging requires x-amz-tagging-directive: REPLACE")
      }
      return {
        retag,
        replace: directiveOf(request, "metadata") === "REPLACE",
        meta: taggedMeta(exchange),
        condition: writeCondition(request.header),
        algorithm: namedAlgorithm(request.header("x-amz-checksum-algorithm"))
      }
    })
    const source = yield* copySource(exchange)
    const { contentType, headers, user } = plan.replace ? plan.meta : source
    const { tags } = plan.retag ? plan.meta : source
    if (!plan.retag && tags.length > 0) yield* authorizeTags(exchange, source)
    // With an older version as its source, a copy onto itself restores it.
    const itself = source.bucket === request.bucket && source.key === request.key && source.named === undefined
    if (itself && !plan.replace && plan.algorithm === undefined) {
      return yield* s3Error(
        "InvalidRequest",
        "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes."
      )
    }
    if (source.size > maximumPut) {
      return yield* s3Error(
        "InvalidRequest",
        `The specified copy source is larger than the maximum allowable size for a copy source: ${maximumPut}`
      )
    }
    const kept = source.checksum?.type === "FULL_OBJECT" ? source.checksum : undefined
    const algorithm = plan.algorithm === kept?.algorithm ? undefined : plan.algorithm
    // In a bucket with versioning, the changed object is a new version.
    if (itself && algorithm === undefined && !source.isVersioned) {
      // No bytes are copied, and the condition protects an object that was replaced in the meantime.
      const condition = { ifMatch: source.etag, ...plan.condition }
      const meta = { contentType, headers, user, tags, checksum: source.checksum }
      return copied(exchange, source, yield* store.setMeta(request.bucket, request.key, meta, condition))
    }
    const { blob, checksum = kept } = yield* copyBytes(exchange, source, undefined, algorithm)
    const meta = { contentType, headers, user, tags, checksum }
    return copied(exchange, source, yield* store.put(request.bucket, request.key, blob, meta, plan.condition))
  })
}

const copied = (exchange: Exchange, source: Source, info: ObjectInfo) =>
  xmlReply(
    "CopyObjectResult",
    { LastModified: info.lastModified.toISOString(), ETag: `"${info.etag}"`, ...checksumXml(info.checksum) },
    { ...versionHeader(exchange, info), ...sourceHeader(source) }
  )
