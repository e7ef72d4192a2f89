import {
  type GetObjectCommand,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
  type UploadPartCommand
} from "@aws-sdk/client-s3"
import { getSignedUrl } from "@aws-sdk/s3-request-presigner"
import { Clock, Effect, Redacted } from "effect"
import { duration } from "../../../domain/Settings.ts"
import { CurrentMeters, type Meters } from "../../../services/metrics/Meters.ts"
import { type Presigned, type StoreError } from "../../../services/ports/ObjectStore.ts"
import { ObjectStoreAddress, ownRequest } from "../Address.ts"
import { type Subject, storeFailureOf, storeErrorOf, S3Failure } from "./Errors.ts"
import { uriEncodePath } from "../../../domain/text/UriText.ts"

/** The timeout for opening a connection, in ms. */
const connectMillis = 3000

/** The timeout of copies and completions of large objects, in ms; S3 answers them within this time. */
const slowMillis = 5 * 60_000

type SdkCall<A> = (s3: S3Client, options: { readonly abortSignal: AbortSignal }) => Promise<A>
type Signable = GetObjectCommand | PutObjectCommand | UploadPartCommand

/** A client of the store. */
export interface S3 {
  readonly address: ObjectStoreAddress["Service"]
  /** One call with its retries, limited to S3_TIMEOUT (`slow`: at least five minutes). */
  readonly send: <A>(sdkCall: SdkCall<A>, speed?: "slow") => Effect.Effect<A, S3Failure>
  /** Like `send`, with its failure as an error of the API. */
  readonly call: <A>(subject: Subject, sdkCall: SdkCall<A>, speed?: "slow") => Effect.Effect<A, StoreError>
  /** A URL for one command at the public endpoint, made without a request. */
  readonly presign: (command: Signable, seconds: number) => Effect.Effect<Presigned>
}

/**
 * The URL for a PUT of an object signs its content type, and its size if that is given. The other commands sign none: the SDK gives a part a content
 * type of its own, which clients don't send.
 */
const ofUpload = new Set(["host", "content-type", "content-length"])
const hostOnly = new Set(["host"])

const noop = () => undefined
const silentLogger = { debug: noop, info: noop, warn: noop, error: noop }

/** Every option is explicit, so that neither AWS_* variables nor the operator's ~/.aws have an effect. */
const settings = (address: ObjectStoreAddress["Service"], endpoint: string): S3ClientConfig => ({
  endpoint,
  region: address.region,
  forcePathStyle: address.forcePathStyle,
  credentials: { accessKeyId: address.accessKey, secretAccessKey: Redacted.value(address.secretKey) },
  // The SDK's default checksum would be signed into URLs, and a plain PUT could not supply it.
  requestChecksumCalculation: "WHEN_REQUIRED",
  responseChecksumValidation: "WHEN_REQUIRED",
  retryMode: "standard",
  maxAttempts: 3,
  defaultsMode: "standard",
  useDualstackEndpoint: false,
  useFipsEndpoint: false,
  useArnRegion: false,
  disableMultiregionAccessPoints: true,
  disableS3ExpressSessionAuth: true,
  userAgentAppId: "svc",
  logger: silentLogger,
  requestHandler: { connectionTimeout: connectMillis, logger: silentLogger }
})

/** Counts calls by their outcome, and the bytes of all their attempts. */
const counting = (client: S3Client, meters: Meters) => {
  const counters = new Map<string, () => void>()
  const count = (command: string | undefined, outcome: "succeeded" | "failed") => {
    const key = `${command} ${outcome}`
    const operation = (command ?? "Unknown").replace(/Command$/, "")
    const counter = counters.get(key) ?? meters.counter("svc_s3_operations_total", { operation, outcome })
    counters.set(key, counter)
    counter()
  }
  const sent = meters.counter("svc_s3_bytes_total", { direction: "sent" })
  const received = meters.counter("svc_s3_bytes_total", { direction: "received" })
  const lengthOf = (message: unknown) =>
    Number((message as { readonly headers?: Readonly<Record<string, string>> }).headers?.["content-length"] ?? 0)
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (call) => {
        try {
          const result = await next(call)
          count(commandName, "succeeded")
          return result
        } catch (error) {
          count(commandName, "failed")
          throw error
        }
      },
    { step: "initialize", name: "svcOperations" }
  )
  client.middlewareStack.add(
    (next) => async (call) => {
      sent(lengthOf(call.request))
      const result = await next(call)
      received(lengthOf(result.response))
      return result
    },
    { step: "deserialize", name: "svcBytes", priority: "low" }
  )
}

/** How long a call may take with its retries, in ms. */
export const storeTimeout = duration("S3_TIMEOUT", 15_000)

export const makeS3 = Effect.gen(function* () {
  const address = yield* ObjectStoreAddress
  const millis = yield* storeTimeout
  const open = (endpoint: string) =>
    Effect.acquireRelease(
      Effect.sync(() => new S3Client(settings(address, endpoint))),
      (client) => Effect.sync(() => client.destroy())
    )
  const client = yield* open(address.endpoint)
  counting(client, yield* CurrentMeters)
  const own = ownRequest(Redacted.value(address.secretKey))
  client.middlewareStack.add(
    (next) => (args) => {
      const { headers } = args.request as { readonly headers: Record<string, string> }
      headers[own.name] = own.value
      return next(args)
    },
    { step: "build", name: "ownRequest" }
  )
  const signer = yield* open(address.publicEndpoint)

  const send = <A>(sdkCall: SdkCall<A>, speed?: "slow"): Effect.Effect<A, S3Failure> =>
    Effect.tryPromise({ try: (abortSignal) => sdkCall(client, { abortSignal }), catch: storeFailureOf }).pipe(
      Effect.timeoutOrElse({
        duration: speed === "slow" ? Math.max(millis, slowMillis) : millis,
        orElse: () => Effect.fail(new S3Failure({ code: "Timeout", status: 0, message: "No answer" }))
      })
    )

  const call = <A>(subject: Subject, sdkCall: SdkCall<A>, speed?: "slow"): Effect.Effect<A, StoreError> =>
    Effect.catch(send(sdkCall, speed), (failure) => failWith(failure, subject))

  const presign = Effect.fn("ObjectStore.presign")(function* (command: Signable, seconds: number) {
    const now = yield* Clock.currentTimeMillis
    const url = yield* Effect.promise(() =>
      // The SDK's own commands don't fit its own parameter under exactOptionalPropertyTypes.
      getSignedUrl(signer, command as unknown as Parameters<typeof getSignedUrl>[1], {
        expiresIn: seconds,
        signingDate: new Date(now),
        signableHeaders: command instanceof PutObjectCommand ? ofUpload : hostOnly
      })
    )
    return { url, expiresAt: new Date(Math.floor(now / 1000) * 1000 + seconds * 1000) }
  })

  const s3: S3 = { address, send, call, presign }
  return s3
})

/** Fails with the API's error for the failure; failures of the store itself are logged as well. */
export const failWith = (failure: S3Failure, subject: Subject): Effect.Effect<never, StoreError> => {
  const error = storeErrorOf(failure, subject)
  if (error._tag !== "BadGateway" && error._tag !== "GatewayTimeout") return Effect.fail(error)
  const { code, message, status } = failure
  return Effect.andThen(
    Effect.logWarning(`Object store request failed: ${[code, status, message].filter(Boolean).join(" ")}`),
    Effect.fail(error)
  )
}

/** A key from a listing: percent-encoded, with "+" for a space, if the store supports `encoding-type=url`. */
export const decodedKey = (key: string | undefined, encoding: string | undefined): string => {
  if (key === undefined || encoding !== "url") return key ?? ""
  try {
    return decodeURIComponent(key.replaceAll("+", " "))
  } catch {
    return key
  }
}

/** Whether XML 1.0 can carry a key unchanged; other keys are sent one by one in URLs. */
export const fitsXml = (key: string) => !/[\p{Cc}\u2028\ufffe\uffff]/u.test(key)

/** `bucket/key` in a URL. */
export const encodedPath = (bucket: string, key: string) => `${bucket}/${uriEncodePath(key)}`
