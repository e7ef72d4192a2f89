import { Effect, type Scope } from "effect"
import { type IncomingMessage, type ServerResponse } from "node:http"
import { authorize } from "./Authorization.ts"
import { checkBucketName, createBucket } from "./operations/Buckets.ts"
import { bucketCorsHeaders, bucketPreflight } from "./Cors.ts"
import { type Exchange, hiddenFrom, momentOf, type Reply, type S3Settings } from "./Exchange.ts"
import { s3PayloadOf } from "./Payload.ts"
import { errorReply, send } from "./Replies.ts"
import { checkHeaders, requestBody } from "./RequestHeaders.ts"
import { operationOf } from "./Routes.ts"
import { type S3Error, s3Error } from "./Error.ts"
import { tryS3, newRequestId, parseRequest, type S3Request } from "./Request.ts"
import { authenticate } from "./signature/SigV4.ts"
import { type BucketInfo, type LocalStore } from "./store/Model.ts"

/** Reports encryption as S3 does, which encrypts all objects by default. */
const withEncryption = (reply: Reply): Reply => ({
  ...reply,
  headers: { ...reply.headers, "x-amz-server-side-encryption": "AES256" }
})

const hidden = "The bucket has the files of /storage/v1, which are used through it"

const notInThePast = s3Error("MethodNotAllowed", "The objects of an earlier time can only be read")

const noVersion = (version: string) =>
  s3Error("InvalidArgument", "This operation does not accept a version-id.", {
    ArgumentName: "versionId",
    ArgumentValue: version.slice(0, 200)
  })

/** Answers one request; never fails. */
export const makeHandler = (store: LocalStore, settings: S3Settings) => {
  const bucketOf = ({ bucket }: S3Request): Effect.Effect<BucketInfo | void, S3Error> =>
    Effect.gen(function* () {
      if (bucket === "") return
      yield* tryS3(() => checkBucketName(bucket))
      return yield* Effect.catchIf(
        store.bucket(bucket),
        (error) => error.code === "NoSuchBucket",
        () => Effect.void
      )
    })

  const perform = Effect.fnUntraced(function* (
    request: S3Request,
    response: ServerResponse,
    bucketInfo: BucketInfo | undefined
  ) {
    if (request.method === "OPTIONS") return yield* tryS3(() => bucketPreflight(request, bucketInfo, settings))
    const { at, caller, operation } = yield* tryS3(() => {
      const caller = authenticate(request, settings.owner, Date.now())
      return { caller, operation: operationOf(request), at: momentOf(request, caller) }
    })
    yield* tryS3(() => {
      if (at !== undefined && operation.past !== true) throw notInThePast
      if (request.bucket !== "" && request.bucket === hiddenFrom(request, settings))
        throw s3Error("AccessDenied", hidden)
      if (bucketInfo !== undefined) {
        const version = request.param("versionId")
        const named = version === undefined ? undefined : operation.versionAction
        const action = named ?? operation.action
        if (action !== "anyone") authorize({ request, caller }, bucketInfo, action, request.key, version)
        // A policy's condition on s3:versionid must not be about a version that the operation does not use.
        if (version !== undefined && named === undefined && request.key !== "") throw noVersion(version)
      } else if (caller === undefined && operation.action === undefined) throw s3Error("AccessDenied", "Access Denied")
      else if (request.bucket !== "" && operation !== createBucket && at === undefined) {
        throw s3Error("NoSuchBucket", undefined, { BucketName: request.bucket })
      }
      checkHeaders({ names: request.headerNames, header: request.header }, operation.headers ?? [], settings.encrypted)
    })
    const rawBody = requestBody(request.message, response)
    const exchange: Exchange = {
      request,
      caller,
      at,
      store,
      settings,
      bucketInfo,
      rawBody,
      payload: (options) => s3PayloadOf(request, caller, rawBody, options)
    }
    const reply = yield* operation.run(exchange)
    return settings.encrypted && operation.onBytes === true ? withEncryption(reply) : reply
  })

  const answer = (request: S3Request, response: ServerResponse): Effect.Effect<Reply, never, Scope.Scope> => {
    let bucketInfo: BucketInfo | undefined
    return bucketOf(request).pipe(
      Effect.flatMap((info) => perform(request, response, (bucketInfo = info ?? undefined))),
      Effect.catch((error) => Effect.succeed(errorReply(error, request.id, request.path))),
      Effect.map((reply) => ({
        ...reply,
        headers: { ...reply.headers, ...bucketCorsHeaders(request, bucketInfo, settings) }
      }))
    )
  }

  return Effect.fnUntraced(
    function* (message: IncomingMessage, response: ServerResponse) {
      const id = newRequestId()
      response.setHeader("x-amz-request-id", id)
      response.setHeader("x-amz-id-2", id)
      // Objects have the type that their sender gave them: browsers must not guess another, such as that of a page.
      response.setHeader("X-Content-Type-Options", "nosniff")
      const path = message.url?.split("?")[0] ?? "/"
      const reply = yield* tryS3(() => parseRequest(message, id)).pipe(
        Effect.flatMap((request) => answer(request, response)),
        Effect.catch((error) => Effect.succeed(errorReply(error, id, path))),
        Effect.catchDefect((defect) =>
          Effect.as(
            Effect.logError(`S3 request failed: ${message.method} (request id ${id})`, defect),
            errorReply(s3Error("InternalError"), id, path)
          )
        )
      )
      yield* send(message, response, reply)
    },
    Effect.scoped,
    // A defect while the response is being sent closes the connection.
    (effect, _message, response) =>
      Effect.catchDefect(effect, (defect) =>
        Effect.andThen(
          Effect.logError("Failed to send an S3 response", defect),
          Effect.sync(() => response.destroy())
        )
      )
  )
}
