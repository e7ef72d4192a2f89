import { Option, Schema } from "effect"
import { Secret, TOTP } from "otpauth"

/** The second factors of an identity (spec: MFA status). */
export const MfaStatus = Schema.Struct({
  totp: Schema.Boolean,
  webauthn: Schema.Boolean,
  webauthn_credentials: Schema.Array(
    Schema.Struct({ id: Schema.String, display_name: Schema.String, added_at: Schema.NullOr(Schema.String) })
  ),
  lookup_secret: Schema.Boolean,
  lookup_secrets_count: Schema.Int,
  lookup_secrets_used: Schema.Int
})
export type MfaStatus = typeof MfaStatus.Type

/** Removes colons, which separate issuer and account in the label. */
const labelPart = (text: string) => encodeURIComponent(text.toWellFormed().replaceAll(":", " ").trim())

/**
 * The URI that authenticator apps read as a QR code (Key URI Format). `secret` is base32; the other parameters are the
 * identity provider's: SHA-1, 6 digits, 30 s.
 */
export const otpauthUri = (key: { account: string; issuer: string; secret: string }): string => {
  const [issuer, account] = [labelPart(key.issuer), labelPart(key.account)]
  const secret = encodeURIComponent(key.secret)
  return `otpauth://totp/${issuer}:${account}?secret=${secret}&issuer=${issuer}&algorithm=SHA1&digits=6&period=30`
}

/** A new secret for an authenticator app: 160 bits in base32 (RFC 4226 4, R6). */
export const makeTotpSecret = (): string => new Secret({ size: 20 }).base32

/**
 * The time step of a code, at most one step from now in either direction (RFC 6238 5.2); undefined when the code is wrong.
 * Each step is valid once, which the caller ensures. `now`: ms since 1970.
 */
export const totpStepOf = (secret: string, token: string, now: number): number | undefined => {
  const code = token.replaceAll(" ", "") // as apps show it
  // The library throws for six characters that are more than six bytes.
  if (!/^[0-9]{6}$/.test(code)) return undefined
  const offset = new TOTP({ secret }).validate({ token: code, timestamp: now, window: 1 })
  return offset === null ? undefined : TOTP.counter({ timestamp: now }) + offset
}

/** Maximum length of a credential id in bytes (WebAuthn 3, 4: Credential ID). */
const maxIdBytes = 1023

const decodeId = (text: string, encoding: "hex" | "base64url") => {
  const bytes = new Uint8Array(Buffer.from(text, encoding))
  return bytes.length > 0 && bytes.length <= maxIdBytes ? [bytes] : []
}

/**
 * The possible bytes of a credential id: browsers write base64url, the identity provider base64 in one place and hex in
 * another. Text that is valid as both is far more likely hex, so hex comes first; empty when the text is neither.
 */
export const webAuthnIds = (text: string): ReadonlyArray<Uint8Array> => [
  ...(/^(?:[\da-f]{2})+$/i.test(text) ? decodeId(text, "hex") : []),
  ...(/^[\w+/-]+={0,2}$/.test(text) ? decodeId(text, "base64url") : [])
]

const base64url = /^[A-Za-z0-9_-]+={0,2}$/
const decodeCredential = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Struct({
      id: Schema.String,
      rawId: Schema.String,
      type: Schema.Literal("public-key"),
      response: Schema.Record(Schema.String, Schema.Unknown)
    })
  )
)

/**
 * The id of a credential given as JSON text (WebAuthn 3, RegistrationResponseJSON or AuthenticationResponseJSON);
 * undefined when the text is not such a credential or its response lacks a `required` field. Verifies nothing.
 */
export const credentialIdOf = (text: string, required: ReadonlyArray<string>): Uint8Array | undefined =>
  Option.getOrUndefined(
    Option.flatMap(decodeCredential(text), ({ id, rawId, response }) => {
      const fields = [id, rawId, ...required.map((name) => response[name])]
      return fields.every((field) => typeof field === "string" && base64url.test(field))
        ? Option.some(Buffer.from(rawId, "base64url"))
        : Option.none()
    })
  )
