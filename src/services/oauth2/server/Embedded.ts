import { Context, Effect, Layer } from "effect"
import { type JWK } from "jose"
import { type ClientError, type Unavailable } from "../../../domain/errors.ts"
import { type JsonObject } from "../../../domain/text/JsonObject.ts"
import { logFailure } from "../../OwnTables.ts"
import { OAuth2 } from "../../ports/OAuth2.ts"
import { OAuth2Endpoints } from "../Endpoints.ts"
import { type PublicFetch } from "../PublicFetch.ts"
import { challengesOn } from "./Challenges.ts"
import { consentsOn } from "./Consents.ts"
import { type Library, type Loaded } from "./Library.ts"
import { logoutsOn } from "./Logouts.ts"
import { keepNotifying } from "./LogoutNotices.ts"
import { type OAuth2Store, makeOAuth2Store } from "./Store.ts"
import { clientsOn } from "./clients/Clients.ts"

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
  yield* Effect.forkScoped(keepNotifying(store, library))
  const { issuer } = options
  const port = OAuth2.of({
    configured: true,
    ready: Effect.succeed(true),
    ...challengesOn(store, library, issuer),
    ...consentsOn(store),
    ...logoutsOn(store, issuer),
    ...clientsOn(store, library)
  })
  const endpoints = OAuth2Endpoints.of({
    handler: Effect.map(library, ({ answer }) => answer)
  })
  return Context.make(OAuth2, port).pipe(Context.add(OAuth2Endpoints, endpoints))
})

export const layerOAuth2Embedded = (options: EmbeddedOptions) => Layer.effectContext(makeOAuth2Embedded(options))

/** Rows that one statement deletes. */
const batch = 1_000
/** Statements of a round; the rest waits for the next one. */
const batches = 50
/** Pauses between rounds, in ms. */
const pause = 60_000
/** Consents are cleaned in every so many rounds: that reads all of them. */
const consentRounds = 60

const expired = (table: string, key: string, condition: string) => `
  delete from svc.oauth2_${table} where (${key}) in (
    select ${key} from svc.oauth2_${table} where ${condition} order by expires_at limit ${batch} for update skip locked)
  returning 1 as one`

/** Challenges are kept for a day longer, so that a late browser gets the reason and can start again. */
const expiredSql = [
  expired("items", "kind, id", "expires_at < now()"),
  expired("answers", "verifier", "expires_at < now()"),
  expired("logouts", "id", "expires_at < now()"),
  expired("challenges", "id", "expires_at < now() - interval '1 day'")
]

/** The id of a grant as Store.ts hashes it. */
const hashed = `rtrim(translate(encode(sha256(grant_id::bytea), 'base64'), '+/', '-_'), '=')`

/**
 * Consents without a valid token, unless they are the latest one that is remembered: nothing depends on them any more. The
 * first day is for those whose code was not used yet.
 */
const consentsSql = `
  with ended as (
    delete from svc.oauth2_consents where grant_id in (
      select c.grant_id from svc.oauth2_consents c
      where c.handled_at < now() - interval '1 day'
        and not exists (select from svc.oauth2_items t where t.grant_id = c.grant_id and t.expires_at > now())
        and not (c.remember and (c.remember_until is null or c.remember_until > now())
          and not exists (select from svc.oauth2_consents n where n.subject = c.subject and n.client_id = c.client_id
                            and n.remember and n.handled_at > c.handled_at))
      order by c.handled_at limit ${batch} for update skip locked)
    returning ${hashed} as id),
  grants as (delete from svc.oauth2_items where kind = 'Grant' and id in (select id from ended))
  select 1 as one from ended`

/** Deletes rows in batches until none is left, or the round has taken enough. */
const deleteAll = ({ own, sql }: OAuth2Store, text: string) =>
  Effect.gen(function* () {
    for (let round = 0; round < batches; round++) {
      if ((yield* own(sql.unsafe(text))).length < batch) return
    }
  })

/** Consents of people whose account was deleted. The database deletes those of sign-ins at this version by itself. */
const orphansSql = `
  with ended as (
    delete from svc.oauth2_consents where grant_id in (
      select c.grant_id from svc.oauth2_consents c
      where not exists (select from svc.identities i where i.id::text = c.subject)
      limit ${batch} for update skip locked)
    returning grant_id, ${hashed} as id),
  items as (
    delete from svc.oauth2_items
    where grant_id in (select grant_id from ended) or kind = 'Grant' and id in (select id from ended))
  select 1 as one from ended`

export const cleanExpired = (store: OAuth2Store) => Effect.forEach(expiredSql, (text) => deleteAll(store, text))
export const cleanConsents = (store: OAuth2Store) =>
  Effect.andThen(deleteAll(store, consentsSql), store.ownAccounts ? deleteAll(store, orphansSql) : Effect.void)

/** Deletes what has expired, as long as the service runs. Replicas take different rows. */
const keepClean = (store: OAuth2Store) =>
  Effect.gen(function* () {
    for (let round = 1; ; round++) {
      yield* Effect.sleep(pause)
      const clean = round % consentRounds === 0 ? cleanConsents(store) : Effect.void
      yield* Effect.andThen(cleanExpired(store), clean).pipe(
        Effect.catchCause(logFailure("Failed to delete expired rows of the OAuth 2.0 server"))
      )
    }
  })
