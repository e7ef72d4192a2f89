import { Clock, Effect, Redacted } from "effect"
import { Forbidden } from "../../../domain/errors.ts"
import type * as OpenIdClient from "openid-client"
import { type ProvidedPerson, type ProviderProtocol } from "../../../services/ports/identity/Providers.ts"
import { makeIdTokens, toleranceSeconds } from "./IdTokens.ts"
import { noProviderCode } from "../../../services/identity/accounts/Refusals.ts"
import { asking, boundedFetch, redeeming, timeoutSeconds } from "./Requests.ts"
import { type ProviderSettings } from "./Settings.ts"

const notRecent = new Forbidden({
  error: "The provider has not asked the person to sign in again: sign out here, and sign in again",
  code: "PROVIDER_SIGN_IN_NOT_RECENT"
})

/** How long what discovery has found is used, in ms. */
const rememberMillis = 3_600_000

/** The library, loaded with the first sign-in. */
export const library = () => import("openid-client")

/** How the client shows its secret: as the provider supports it. */
export const authenticationOf = (client: typeof OpenIdClient, secret: Redacted.Redacted | undefined) => {
  if (secret === undefined) return client.None()
  const [post, basic] = [
    client.ClientSecretPost(Redacted.value(secret)),
    client.ClientSecretBasic(Redacted.value(secret))
  ]
  const authenticate: OpenIdClient.ClientAuth = (server, ...rest) => {
    // The default of OpenID Connect Discovery applies if there is no list.
    const supported = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"]
    return (supported.includes("client_secret_basic") ? basic : post)(server, ...rest)
  }
  return authenticate
}

const textOf = (value: unknown, maxLength: number) =>
  typeof value === "string" && value !== "" && value.length <= maxLength ? value : undefined

/** The person whom claims are about; `iss` and `sub` have been verified. */
const personOf = (claims: { readonly [name: string]: unknown; readonly iss: string; readonly sub: string }) => {
  const email = textOf(claims["email"], 320)
  const person: ProvidedPerson = {
    issuer: claims.iss,
    subject: claims.sub,
    email,
    // Apple writes it as a text.
    verified: claims["email_verified"] === true || claims["email_verified"] === "true",
    name: textOf(claims["name"], 200),
    account: email ?? textOf(claims["preferred_username"], 200) ?? claims.sub.slice(0, 200)
  }
  return person
}

/** A provider of OpenID Connect, found by its issuer. */
export const makeOidc = (settings: ProviderSettings): ProviderProtocol => {
  const { appClientIds, clientId, clientSecret, id, issuer, label, scopes } = settings
  let found: { readonly config: OpenIdClient.Configuration; readonly until: number } | undefined

  const configured = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (found !== undefined && found.until > now) return found.config
    const config = yield* asking(label, async () => {
      const client = await library()
      const insecure = issuer.protocol === "http:" ? [client.allowInsecureRequests] : []
      return client.discovery(issuer, clientId, undefined, authenticationOf(client, clientSecret), {
        [client.customFetch]: boundedFetch,
        timeout: timeoutSeconds,
        // The ID token's signature is verified too, although it comes over TLS.
        execute: [client.enableNonRepudiationChecks, ...insecure]
      })
    })
    found = { config, until: now + rememberMillis }
    return config
  })

  const verify = makeIdTokens(label, [clientId, ...appClientIds])

  return {
    id,
    label,
    start: ({ again, callback, nonce, state, verifier }) =>
      Effect.flatMap(configured, (config) =>
        asking(label, async () => {
          const client = await library()
          return client.buildAuthorizationUrl(config, {
            redirect_uri: callback,
            scope: scopes.join(" "),
            state,
            nonce,
            code_challenge: await client.calculatePKCECodeChallenge(verifier),
            code_challenge_method: "S256",
            ...(again ? { max_age: "0" } : {})
          }).href
        })
      ),
    finish: ({ callback, nonce, since, state, verifier }, query) =>
      Effect.gen(function* () {
        const config = yield* configured
        const { authorization_response_iss_parameter_supported: named = false, issuer } = config.serverMetadata()
        // The answer of another provider (RFC 9207).
        if ((named || query.has("iss")) && query.get("iss") !== issuer) return yield* noProviderCode
        const { claims, ...given } = yield* redeeming(label, async () => {
          const client = await library()
          const tokens = await client.authorizationCodeGrant(config, new URL(`${callback}?${query}`), {
            pkceCodeVerifier: verifier,
            expectedState: state,
            expectedNonce: nonce,
            idTokenExpected: true
          })
          const claims = tokens.claims()!
          const { access_token: token, refresh_token: refreshToken } = tokens
          // Many providers put addresses and names into userinfo only.
          const known =
            claims["email"] === undefined && config.serverMetadata().userinfo_endpoint !== undefined
              ? { ...(await client.fetchUserInfo(config, tokens.access_token, claims.sub)), ...claims }
              : claims
          return { claims, person: personOf({ ...known, iss: claims.iss, sub: claims.sub }), token, refreshToken }
        })
        // The browser could leave out `max_age`, and not all providers obey it (OpenID Connect Core 3.1.3.7, 13).
        if (since !== undefined && !((claims.auth_time ?? 0) >= since - toleranceSeconds)) return yield* notRecent
        return given
      }),
    read: (given) =>
      Effect.gen(function* () {
        const { claims, seconds } = yield* verify((yield* configured).serverMetadata(), given)
        return { person: personOf(claims), seconds }
      })
  }
}
