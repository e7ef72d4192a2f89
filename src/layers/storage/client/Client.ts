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
import { type Presigned, type StoreError } from "../../../services/ports/ObjectStore.ts"
import { ObjectStoreAddress } from "../Address.ts"
import { type About, failureOf, meaningOf, S3Failure } from "./Errors.ts"

/** How long a connection may take to open, in ms. */
const connectMillis = 3000

/** Copies and completions of large objects take as long as they take; S3 answers them within this time, in ms. */
const slowMillis = 5 * 60_000

type Send<A> = (s3: S3Client, options: { readonly abortSignal: AbortSignal }) => Promise<A>
type Signable = GetObjectCommand | PutObjectCommand | UploadPartCommand

/** The way to the store. */
export interface S3 {
  readonly address: ObjectStoreAddress["Service"]
  /** One call with its retries, in at most S3_TIMEOUT (`slow`: at least five minutes). */
  readonly ask: <A>(send: Send<A>, speed?: "slow") => Effect.Effect<A, S3Failure>
  /** The same, its failure told in our words. */
  readonly call: <A>(about: About, send: Send<A>, speed?: "slow") => Effect.Effect<A, StoreError>
  /** A URL for one command at the public endpoint; nothing is asked. */
  readonly presign: (command: Signable, seconds: number) => Effect.Effect<Presigned>
}

/**
 * A PUT of an object is of the type it was asked for. The other commands sign none: the SDK gives a part a type of its
 * own, which clients don't send.
 */
const typeSigned = new Set(["host", "content-type"])
const plainSigned = new Set(["host"])

const nothing = () => undefined
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/** Everything is said, so that no AWS_* variable and no ~/.aws of whoever runs the service has a say. */
const settings = (address: ObjectStoreAddress["Service"], endpoint: string): S3ClientConfig => ({
  endpoint,
  region: address.region,
  forcePathStyle: address.forcePathStyle,
  credentials: { accessKeyId: address.accessKey, secretAccessKey: Redacted.value(address.secretKey) },
  // A checksum nobody asked for would be signed into URLs, and plain PUTs could not give it.
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
  logger: silent,
  requestHandler: { connectionTimeout: connectMillis, logger: silent }
})

export const makeS3 = Effect.gen(function* () {
  const address = yield* ObjectStoreAddress
  const millis = yield* duration("S3_TIMEOUT", 15_000)
  const open = (endpoint: string) =>
    Effect.acquireRelease(
      Effect.sync(() => new S3Client(settings(address, endpoint))),
      (client) => Effect.sync(() => client.destroy())
    )
  const client = yield* open(address.endpoint)
  const signer = yield* open(address.publicEndpoint)

  const ask = <A>(send: Send<A>, speed?: "slow"): Effect.Effect<A, S3Failure> =>
    Effect.tryPromise({ try: (abortSignal) => send(client, { abortSignal }), catch: failureOf }).pipe(
      Effect.timeoutOrElse({
        duration: speed === "slow" ? Math.max(millis, slowMillis) : millis,
        orElse: () => Effect.fail(new S3Failure({ code: "Timeout", status: 0, message: "No answer" }))
      })
    )

  const call = <A>(about: About, send: Send<A>, speed?: "slow"): Effect.Effect<A, StoreError> =>
    Effect.catch(ask(send, speed), (failure) => told(failure, about))

  const presign = Effect.fn("ObjectStore.presign")(function* (command: Signable, seconds: number) {
    const now = yield* Clock.currentTimeMillis
    const url = yield* Effect.promise(() =>
      // The SDK's own commands don't fit its own parameter under exactOptionalPropertyTypes.
      getSignedUrl(signer, command as unknown as Parameters<typeof getSignedUrl>[1], {
        expiresIn: seconds,
        signingDate: new Date(now),
        signableHeaders: command instanceof PutObjectCommand ? typeSigned : plainSigned
      })
    )
    return { url, expiresAt: new Date(Math.floor(now / 1000) * 1000 + seconds * 1000) }
  })

  const s3: S3 = { address, ask, call, presign }
  return s3
})

/** Fails with what the failure means to a caller; what is wrong with the store itself is logged as well. */
export const told = (failure: S3Failure, about: About): Effect.Effect<never, StoreError> => {
  const error = meaningOf(failure, about)
  if (error._tag !== "BadGateway" && error._tag !== "GatewayTimeout") return Effect.fail(error)
  const { code, message, status } = failure
  return Effect.andThen(
    Effect.logWarning(`The object store failed: ${[code, status, message].filter(Boolean).join(" ")}`),
    Effect.fail(error)
  )
}

/** A key as a list has it: percent-encoded where the store did as it was asked, with "+" for a space. */
export const decodedKey = (key: string | undefined, encoding: string | undefined): string => {
  if (key === undefined || encoding !== "url") return key ?? ""
  try {
    return decodeURIComponent(key.replaceAll("+", " "))
  } catch {
    return key
  }
}

/** Whether XML 1.0 brings a key over unchanged; what it can't is asked about one by one, in the URL. */
export const fitsXml = (key: string) => !/[\p{Cc}\u2028\ufffe\uffff]/u.test(key)

/** `bucket/key` as it stands in a URL. */
export const encodedPath = (bucket: string, key: string) => `${bucket}/${encodedKey(key)}`

export const encodedKey = (key: string) =>
  encodeURIComponent(key)
    .replaceAll("%2F", "/")
    .replaceAll(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
