import { Effect, Layer } from "effect"
import { flag, text } from "../../domain/Settings.ts"
import { NotFound, Unavailable } from "../../domain/errors.ts"
import { OwnSigningKeys } from "../../services/access/OwnSigningKeys.ts"
import { AccountSettings } from "../../services/identity/AccountSettings.ts"
import { OAuth2Claims } from "../../services/oauth2/Claims.ts"
import { OAuth2Endpoints } from "../../services/oauth2/Endpoints.ts"
import { layerOAuth2Embedded } from "../../services/oauth2/server/Embedded.ts"
import { type Db } from "../../services/ports/Db.ts"
import { IdP } from "../../services/ports/IdP.ts"
import { OAuth2 } from "../../services/ports/OAuth2.ts"
import { idpAddress } from "../identity/Address.ts"
import { makePublicFetch } from "../net/Outbound.ts"
import { type OAuth2Address, oauth2Address } from "./Address.ts"
import { layerOAuth2Hydra } from "./hydra/Hydra.ts"
import { layerHydraRevocation } from "./hydra/Revocation.ts"

const notConfigured = Effect.fail(
  new Unavailable({
    error: "No OAuth 2.0 server is configured (OAUTH2_ADMIN_URL)",
    code: "NOT_CONFIGURED",
    retry_after: 3600
  })
)
const refuse = () => notConfigured

/** Used with SVC_IDENTITY=off and without OAUTH2_ADMIN_URL: every call fails with 503 `NOT_CONFIGURED`. */
export const layerOAuth2None = Layer.succeed(
  OAuth2,
  OAuth2.of({
    configured: false,
    ready: Effect.succeed(false),
    login: refuse,
    acceptLogin: refuse,
    rejectLogin: refuse,
    consent: refuse,
    acceptConsent: refuse,
    rejectConsent: refuse,
    logoutRequest: refuse,
    acceptLogout: refuse,
    rejectLogout: refuse,
    consents: refuse,
    revokeConsents: refuse,
    revokeLogins: refuse,
    clients: refuse,
    client: refuse,
    createClient: refuse,
    mergeClientMetadata: refuse,
    removeClient: refuse,
    rotateSecret: refuse
  })
)

/** Whether URLs of clients may have loopback and private addresses. */
const allowPrivate = flag("SVC_OAUTH2_ALLOW_PRIVATE", false)

/** Validates the settings before anything is started. */
export const layerOAuth2Settings = Layer.effectDiscard(Effect.all([oauth2Address, allowPrivate]))

const layerElsewhere = Layer.succeed(OAuth2Endpoints, { handler: undefined })

const layerEmbedded = Layer.unwrap(
  Effect.gen(function* () {
    const { ownUrl } = yield* AccountSettings
    const keys = yield* OwnSigningKeys
    const idp = yield* IdP
    const claims = yield* OAuth2Claims
    const isActive = (subject: string) =>
      idp.identity(subject).pipe(
        Effect.map(({ state }) => state === "active"),
        Effect.catchIf(
          (error) => error instanceof NotFound,
          () => Effect.succeed(false)
        ),
        // An identity provider without IDP_ADMIN_URL can't be asked, so the user counts as active.
        Effect.catchIf(
          (error) => error instanceof Unavailable && error.code === "NOT_CONFIGURED",
          () => Effect.succeed(true)
        )
      )
    const fetch = yield* makePublicFetch({ allowPrivate: yield* allowPrivate, setting: "SVC_OAUTH2_ALLOW_PRIVATE" })
    const ownAccounts = (yield* idpAddress) === undefined
    return layerOAuth2Embedded({
      issuer: ownUrl,
      keys: keys.all,
      ownAccounts,
      isActive,
      currentClaims: claims.current,
      fetch
    })
  })
).pipe(Layer.provide(OAuth2Claims.layer))

/** Accounts that this service keeps are taken back there too. */
const layerHydraOf = (
  address: OAuth2Address
): Layer.Layer<OAuth2, Layer.Error<typeof layerEmbedded>, Layer.Services<typeof layerEmbedded> | Db> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { embedded } = yield* AccountSettings
      return embedded && (yield* idpAddress) === undefined ? layerHydraRevocation : Layer.empty
    })
  ).pipe(Layer.provideMerge(layerOAuth2Hydra(address)))

/**
 * The OAuth 2.0 server of OAUTH2_ADMIN_URL, or the embedded one. There is none with SVC_IDENTITY=off, or if only
 * OAUTH2_PUBLIC_URL is set, because clients then use another one.
 */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const address = yield* oauth2Address
    const { embedded } = yield* AccountSettings
    const elsewhere = (yield* text("OAUTH2_PUBLIC_URL", undefined)) !== undefined
    if (address !== undefined) return Layer.merge(layerHydraOf(address), layerElsewhere)
    return embedded && !elsewhere ? layerEmbedded : Layer.merge(layerOAuth2None, layerElsewhere)
  })
)
