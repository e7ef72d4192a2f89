import { type Identity } from "../identity/Identity.ts"
import { type JsonObject } from "../text/JsonObject.ts"
import { type ClaimTemplates, resolveClaims, templateProblems } from "./ClaimsTemplate.ts"
import { isVerified, standardClaims, standardScope } from "./StandardClaims.ts"

/** The claims of tokens in addition to the server's own and the standard ones (spec: Claims config). */
export interface ClaimsConfig {
  readonly id_token_claims: ClaimTemplates
  readonly access_token_claims: ClaimTemplates
  /** The scope that a claim requires. By default a standard claim requires its own, and other claims none. */
  readonly claim_scopes?: Readonly<Record<string, string>>
}

/** The claims of one user's tokens. */
export interface ResolvedClaims {
  readonly idTokenClaims: JsonObject
  /** The names of `idTokenClaims` that describe the identity now, rather than at the time of the consent. */
  readonly lookedUp: ReadonlyArray<string>
  readonly accessTokenClaims: JsonObject
}

/** A scope name (RFC 6749 3.3). */
const scopeName = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/

/** A claims configuration whose members are not validated yet. */
export interface GivenClaims {
  readonly id_token_claims: JsonObject
  readonly access_token_claims: JsonObject
  readonly claim_scopes?: JsonObject
}

/** A line for each invalid template or scope. */
export const claimsProblems = (given: GivenClaims): ReadonlyArray<string> => [
  ...templateProblems(given.id_token_claims, "id_token_claims"),
  ...templateProblems(given.access_token_claims, "access_token_claims"),
  ...Object.entries(given.claim_scopes ?? {}).flatMap(([claim, scope]) => {
    const problem = !Object.hasOwn({ ...given.id_token_claims, ...given.access_token_claims }, claim)
      ? "not a claim of id_token_claims or access_token_claims"
      : typeof scope === "string" && scopeName.test(scope)
        ? undefined
        : "a scope must have 1 to 256 printable ASCII characters without spaces, quotes and backslashes"
    return problem === undefined ? [] : [`claim_scopes.${claim.slice(0, 100)}: ${problem}`]
  })
]

/**
 * The claims of an identity for the granted scopes. A template replaces the standard claim of its name; the ID token's
 * claims are also those of userinfo.
 */
export const grantedClaims = (
  config: ClaimsConfig,
  identity: Identity,
  scope: ReadonlyArray<string>
): ResolvedClaims => {
  const granted = new Set(scope)
  const scopes = new Map(Object.entries(config.claim_scopes ?? {}))
  const own = (templates: ClaimTemplates) => {
    const allowed = Object.entries(templates).filter(([claim]) => {
      const required = scopes.get(claim) ?? standardScope(claim)
      return required === undefined || granted.has(required)
    })
    return resolveClaims(Object.fromEntries(allowed), identity)
  }
  const idTokenClaims = currentClaims(config, identity, scope, own(config.id_token_claims))
  const lookedUp = Object.keys(idTokenClaims).filter((claim) => isLookedUp(config, claim))
  return { idTokenClaims, lookedUp, accessTokenClaims: own(config.access_token_claims) }
}

/** Standard claims are looked up whenever a token is issued; those with a template are resolved with the consent. */
const isLookedUp = ({ id_token_claims }: ClaimsConfig, claim: string) =>
  standardScope(claim) !== undefined && !Object.hasOwn(id_token_claims, claim)

/** The claims of an identity now, with those that were resolved at a consent. */
export const currentClaims = (
  config: ClaimsConfig,
  identity: Identity,
  scope: ReadonlyArray<string>,
  resolved: JsonObject
): JsonObject => {
  const granted = new Set(scope)
  const claims: JsonObject = Object.fromEntries([
    ...Object.entries(standardClaims(identity, granted)).filter(([claim]) => isLookedUp(config, claim)),
    ...Object.entries(resolved).filter(([claim]) => !isLookedUp(config, claim))
  ])
  const { email } = claims
  return typeof email === "string" && granted.has("email") && isLookedUp(config, "email_verified")
    ? { ...claims, email_verified: isVerified(identity, email) }
    : claims
}
