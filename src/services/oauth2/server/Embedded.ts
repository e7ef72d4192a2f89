import { Context, Effect, Layer } from "effect"
import { type JWK } from "jose"
import { type ClientError, type Unavailable } from "../../../domain/errors.ts"
import { type JsonObject } from "../../../domain/text/JsonObject.ts"
import { OAuth2 } from "../../ports/OAuth2.ts"
import { OAuth2Endpoints } from "../Endpoints.ts"
import { type PublicFetch } from "../PublicFetch.ts"
import { challengesOn } from "./Challenges.ts"
import { keepClean } from "./Cleaning.ts"
import { clientsOn } from "./clients/Clients.ts"
import { consentsOn } from "./Consents.ts"
import { type Library, type Loaded } from "./Library.ts"
import { logoutsOn } from "./Logouts.ts"
import { makeOAuth2Store, type OAuth2Store } from "./Store.ts"

export interface EmbeddedOptions {
  /** This service's own URL, without a trailing slash. Never taken from a request. */
  readonly issuer: string
  /** The keys that verify tokens; the first one signs. */
  readonly keys: Effect.Effect<ReadonlyArray<{ readonly kid: string; readonly jwk: JWK }>, Unavailable>
  /** Whether this service keeps the accounts. */
  readonly ownAccounts?: boolean
  /** Whether a user still exists and is active. */
  readonly isActive: (subject: string) => Effect.Effect<boolean, ClientError>
  /** The claims that a token has now, of those that were stored with the consent and those that are looked up. */
  readonly currentClaims?: (
    stored: JsonObject,
    subject: string,
    scope: ReadonlyArray<string>
  ) => Effect.Effect<JsonObject, ClientError>
  /** How long a user may take to sign in, in s. */
  readonly challengeSeconds?: () => number
  /** Fetches the URLs of clients. */
  readonly fetch: PublicFetch
}

/** The secret from which all replicas derive the keys of cookies. */
const sharedSecret = ({ own, sql }: OAuth2Store) =>
  Effect.flatMap(own(sql<{ secret: string }>`select secret from svc.identity_secret`), ([row]) =>
    row === undefined ? Effect.die("svc.identity_secret is empty") : Effect.succeed(row.secret)
  )

/** Loads the library at the first call, and makes a new one when the keys have changed. */
const libraryOf = (
  store: OAuth2Store,
  options: EmbeddedOptions,
  run: ReturnType<typeof Effect.runPromiseWith<never>>
) => {
  let current: { readonly version: string; readonly loaded: Loaded } | undefined
  const library: Library = Effect.gen(function* () {
    const keys = yield* options.keys
    const version = keys.map(({ kid }) => kid).join(" ")
    if (current?.version === version) return current.loaded
    const secret = yield* sharedSecret(store)
    const { makeProvider } = yield* Effect.promise(() => import("./Provider.ts"))
    const loaded = makeProvider({
      store,
      issuer: options.issuer,
      keys: keys.map(({ jwk }) => jwk),
      secret,
      challengeSeconds: options.challengeSeconds ?? (() => 1_800),
      isActive: (subject) => run(options.isActive(subject)),
      currentClaims: (stored, ...of) => run(options.currentClaims?.(stored, ...of) ?? Effect.succeed(stored)),
      fetch: options.fetch
    })
    current = { version, loaded }
    return loaded
  })
  return library
}

/** The OAuth 2.0 and OpenID Connect server of this service, with npm oidc-provider, on the service's own tables. */
const makeOAuth2Embedded = Effect.fnUntraced(function* (options: EmbeddedOptions) {
  const store = yield* makeOAuth2Store(options.ownAccounts ?? false)
  const library = libraryOf(store, options, Effect.runPromiseWith(yield* Effect.context<never>()))
  yield* Effect.forkScoped(keepClean(store))
  const { issuer } = options
  const port = OAuth2.of({
    configured: true,
    ready: Effect.succeed(true),
    ...challengesOn(store, library, issuer),
    ...consentsOn(store),
    ...logoutsOn(store, library, issuer),
    ...clientsOn(store, library)
  })
  const endpoints = OAuth2Endpoints.of({
    handler: Effect.map(library, ({ answer }) => answer)
  })
  return Context.make(OAuth2, port).pipe(Context.add(OAuth2Endpoints, endpoints))
})

export const layerOAuth2Embedded = (options: EmbeddedOptions) => Layer.effectContext(makeOAuth2Embedded(options))
