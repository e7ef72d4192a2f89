import { createHmac } from "node:crypto"
import { Config, Context, Effect, Layer, Redacted } from "effect"
import { flag, integer, secret, text, url } from "../../domain/Settings.ts"
import { type StoreJournal } from "./endpoint/store/Model.ts"
import { StartError } from "../process/StartError.ts"

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/
const sameHost = (one: string, other: string) => one === other || (loopback.test(one) && loopback.test(other))

/** The port of the API as it is set; 0: any. */
export const apiPort = integer("PORT", 3000, 0, 65_535)

/**
 * Whether pages of an origin are the service's own, for a client that reaches the store at `host`: those of PUBLIC_URL and
 * DASHBOARD_URL. Without PUBLIC_URL, those of the same host on the port of the API.
 */
export const ownPages = Effect.fnUntraced(
  function* (port: number) {
    const publicUrl = yield* url("PUBLIC_URL")
    const dashboard = yield* url("DASHBOARD_URL")
    return (origin: string, host: string) => {
      if (origin === dashboard?.origin) return true
      if (publicUrl !== undefined) return origin === publicUrl.origin
      const [page, store] = [origin, `http://${host}`].map((url) => (URL.canParse(url) ? new URL(url) : undefined))
      if (page === undefined || store === undefined || page.origin !== origin) return false
      return page.port === String(port) && sameHost(page.hostname, store.hostname)
    }
  },
  Effect.mapError(({ message }) => new StartError({ message }))
)

/**
 * The address of the S3 store and its owner's credentials. Provided by the embedded endpoint or by S3_ENDPOINT; the rest
 * of the program does not depend on which.
 */
export class ObjectStoreAddress extends Context.Service<
  ObjectStoreAddress,
  {
    /** The origin at which this process reaches the store, without a path or trailing slash. */
    readonly endpoint: string
    /** The origin at which clients reach it; presigned URLs are signed for it. This process never requests it. */
    readonly publicEndpoint: string
    readonly region: string
    readonly accessKey: string
    readonly secretKey: Redacted.Redacted
    /** `endpoint/bucket/key` when true, else `bucket.endpoint/key`. */
    readonly forcePathStyle: boolean
    /** Whether browsers may use presigned URLs in pages of this origin, whatever the CORS rules of a bucket are. */
    readonly admitsPages: (origin: string) => boolean
    /** Whether it is the embedded store, of this process or its parent, which answers for earlier times; default false. */
    readonly isEmbedded?: boolean
    /** See `StoreHistory.keepFrom`; undefined for a store that is not in this process. */
    readonly keepFrom?: (at: number | undefined) => Effect.Effect<void>
    /** What an archive of the objects follows; undefined for a store that is not in this process. */
    readonly journal?: StoreJournal
    /** Whether there is a bucket, without a request; undefined for a store that is not in this process. */
    readonly hasBucket?: ((bucket: string) => Effect.Effect<boolean>) | undefined
  }
>()("svc/layers/ObjectStoreAddress") {}

/** The header of requests of the service itself, to which the embedded endpoint shows the bucket of the files of `/storage/v1`. */
export const ownRequest = (secretKey: string) => ({
  name: "x-svc-own-request",
  value: createHmac("sha256", secretKey).update("own request").digest("base64url")
})

/**
 * The parameter of a query, in ms, by which the service reads the objects of an earlier time from the embedded endpoint.
 * Signatures cover it, those of presigned URLs too.
 */
export const momentParameter = "x-svc-objects-at"

/** S3_PUBLIC_ENDPOINT, which defaults to the endpoint itself; also for the embedded endpoint. */
export const publicEndpoint = (endpoint: string) =>
  Effect.map(origin("S3_PUBLIC_ENDPOINT"), (given) => given ?? endpoint)

/**
 * Set for workers if the store of S3_ENDPOINT is the embedded one of their parent, for which the port of the API is
 * this. Not a setting.
 */
export const parentStoreVariable = "SVC_WORKER_STORE"

/** The store of S3_ENDPOINT, with S3_ACCESS_KEY, S3_SECRET_KEY, S3_REGION, S3_FORCE_PATH_STYLE. */
export const layerExternalS3 = Layer.effect(
  ObjectStoreAddress,
  Effect.gen(function* () {
    const endpoint = yield* origin("S3_ENDPOINT")
    if (endpoint === undefined) return yield* new StartError({ message: "S3_ENDPOINT is not set" })
    const accessKey = yield* text("S3_ACCESS_KEY", undefined)
    const secretKey = yield* secret("S3_SECRET_KEY")
    if (accessKey === undefined || secretKey === undefined) {
      const name = accessKey === undefined ? "S3_ACCESS_KEY" : "S3_SECRET_KEY"
      return yield* new StartError({ message: `${name} must be set when S3_ENDPOINT is set` })
    }
    const publicUrl = yield* publicEndpoint(endpoint)
    const pagesPort = yield* Effect.orDie(Config.String(parentStoreVariable).pipe(Config.withDefault("")))
    const isOwnPage = pagesPort === "" ? undefined : yield* ownPages(Number(pagesPort))
    return {
      endpoint,
      publicEndpoint: publicUrl,
      region: yield* text("S3_REGION", "us-east-1"),
      accessKey,
      secretKey: Redacted.make(Redacted.value(secretKey).trim()),
      forcePathStyle: yield* flag("S3_FORCE_PATH_STYLE", true),
      ...(pagesPort === "" ? {} : { isEmbedded: true }),
      admitsPages: (page: string) => isOwnPage?.(page, new URL(publicUrl).host) === true
    }
  })
)

/** The origin of an http(s) URL. Signatures cover host and path, so the store can't be below a path. */
const origin = (name: string) =>
  Effect.flatMap(url(name), (given) => {
    if (given === undefined) return Effect.undefined
    const bare = given.pathname === "/" && given.search === "" && given.hash === "" && given.username === ""
    return bare && /^https?:$/.test(given.protocol)
      ? Effect.succeed(given.origin)
      : Effect.fail(
          new StartError({
            message: `${name} must be an http or https URL without path, such as https://s3.example.com`
          })
        )
  })
