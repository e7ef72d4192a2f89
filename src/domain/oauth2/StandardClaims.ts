import { type Identity } from "../identity/Identity.ts"
import { isJsonObject, type JsonObject } from "../text/JsonObject.ts"

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
export const standardClaims = (identity: Identity, granted: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(
    Object.entries(valuesOf(identity)).filter(
      ([name, value]) => granted.has(scopes.get(name) ?? "") && value !== undefined && value !== ""
    )
  )

/** Whether the identity provider has verified an e-mail address of the identity. */
export const isVerified = ({ addresses }: Identity, email: string): boolean =>
  addresses.some(({ value, verified }) => verified && value.toLowerCase() === email.toLowerCase())
