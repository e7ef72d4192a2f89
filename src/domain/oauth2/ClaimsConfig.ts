import { type Identity } from "../identity/Identity.ts"
import { type JsonObject, isJsonObject } from "../text/JsonObject.ts"
import { type ClaimTemplates, resolveClaims, templateProblems } from "./ClaimsTemplate.ts"

/** The claims that a scope requests (OpenID Connect Core 5.4). */
export const claimsOfScope: Readonly<Record<string, Array<string>>> = {
  profile: (
    "name family_name given_name middle_name nickname preferred_username profile picture website gender birthdate " +
    "zoneinfo locale updated_at"
  ).split(" "),
  email: ["email", "email_verified"],
  address: ["address"],
  phone: ["phone_number", "phone_number_verified"]
}

const scopes = new Map(
  Object.entries(claimsOfScope).flatMap(([scope, names]) => names.map((name) => [name, scope] as const))
)

/** The scope that requests a standard claim; undefined for other claims. */
export const standardScope = (claim: string): string | undefined => scopes.get(claim)

const textOf = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined)

/** A name is one text, or an object with the parts `first` and `last`. */
const namesOf = (traits: JsonObject) => {
  const { name } = traits
  if (!isJsonObject(name)) return { name: textOf(name) }
  const [given, family] = [textOf(name["first"]), textOf(name["last"])]
  return {
    name: [given, family].filter((part) => part !== undefined).join(" "),
    given_name: given,
    family_name: family
  }
}

const profileOf = ({ traits, updated_at }: Identity) => ({
  ...Object.fromEntries(Object.entries(traits).map(([name, value]) => [name, textOf(value)])),
  ...namesOf(traits),
  updated_at: updated_at === null ? undefined : Math.floor(Date.parse(updated_at) / 1000)
})

const addressOf = ({ address }: JsonObject) =>
  isJsonObject(address) ? address : textOf(address) === undefined ? undefined : { formatted: address }

/** The values of all standard claims, among others; undefined or "" where the identity has none. */
const valuesOf = (identity: Identity): JsonObject => ({
  ...profileOf(identity),
  email: textOf(identity.traits["email"]) ?? identity.addresses[0]?.value,
  address: addressOf(identity.traits),
  phone_number: textOf(identity.traits["phone_number"]) ?? textOf(identity.traits["phone"])
})

/**
 * The standard claims of an identity whose scopes are granted, from the traits of the same name. Without
 * `email_verified`, which depends on the address that the token contains (`isVerified`).
 */
const standardClaims = (identity: Identity, granted: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(
    Object.entries(valuesOf(identity)).filter(
      ([name, value]) => granted.has(scopes.get(name) ?? "") && value !== undefined && value !== ""
    )
  )

/** Whether the identity provider has verified an e-mail address of the identity. */
const isVerified = ({ addresses }: Identity, email: string): boolean =>
  addresses.some(({ value, verified }) => verified && value.toLowerCase() === email.toLowerCase())

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
