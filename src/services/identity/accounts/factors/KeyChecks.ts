import type * as WebAuthn from "@simplewebauthn/server"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { AccountSettings } from "../../AccountSettings.ts"
import { invalidSecurityKey, invalidPasskey } from "../Refusals.ts"

/** ES256, EdDSA and RS256, in the order of preference. Without a list the library probes for experimental algorithms. */
const algorithms = [-8, -7, -257]

/** A registered key with the fields that WebAuthn needs. */
interface StoredKey {
  readonly id: string
  /** The key in base64. */
  readonly publicKey: string
  readonly transports: ReadonlyArray<string>
}

/** Loaded when the first key is: parsing the library takes as long as the rest of the service's start. */
const library = Effect.promise(() => import("@simplewebauthn/server"))

/** Removes undefined members, which the library adds and JSON does not have. */
const plain = <A extends object>(options: A): A => JSON.parse(JSON.stringify(options)) as A

const decodeCredential = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Struct({
      id: Schema.String,
      response: Schema.Struct({ userHandle: Schema.optionalKey(Schema.NullOr(Schema.String)) })
    })
  )
)

/** Whether a text can be the id of a credential, at most 1023 bytes in base64url. */
export const isKeyId = (text: string) => /^[\w-]{1,1364}$/.test(text)

/** The id and user handle of a credential given as JSON text; undefined when the text is not a credential. Verifies nothing. */
export const readCredential = (text: string) => {
  const { id, response } = Option.getOrElse(decodeCredential(text), () => ({ id: undefined, response: undefined }))
  if (id === undefined || !isKeyId(id)) return undefined
  const handle = response?.userHandle
  return { id, user: handle == null ? undefined : Buffer.from(handle, "base64url").toString() }
}

/**
 * Creates and verifies what browsers sign (WebAuthn 3). A passkey replaces the password, so its device must have verified
 * its owner; a security key comes after a password, and only shows that it is there.
 */
export class KeyChecks extends Context.Service<KeyChecks>()("svc/identity/KeyChecks", {
  make: Effect.gen(function* () {
    const { origins, rpId } = yield* AccountSettings
    return {
      /** Options for a new key. `identityId` is its user handle. */
      creation: Effect.fnUntraced(function* (
        identityId: string,
        account: string,
        exclude: ReadonlyArray<string>,
        passkey: boolean
      ) {
        const { generateRegistrationOptions } = yield* library
        const options = yield* Effect.promise(() =>
          generateRegistrationOptions({
            rpName: rpId,
            rpID: rpId,
            userName: account,
            userDisplayName: account,
            userID: new TextEncoder().encode(identityId),
            attestationType: "none",
            supportedAlgorithmIDs: algorithms,
            excludeCredentials: exclude.map((id) => ({ id })),
            authenticatorSelection: passkey
              ? { residentKey: "required", userVerification: "required" }
              : { residentKey: "discouraged", userVerification: "discouraged" }
          })
        )
        return plain({ ...options, excludeCredentials: exclude.map((id) => ({ type: "public-key" as const, id })) })
      }),

      /** Options to show a key: one of `allow`, or any passkey. */
      request: Effect.fnUntraced(function* (allow: ReadonlyArray<string> | undefined) {
        const { generateAuthenticationOptions } = yield* library
        const options = yield* Effect.promise(() =>
          generateAuthenticationOptions({
            rpID: rpId,
            userVerification: allow === undefined ? "required" : "discouraged",
            ...(allow === undefined ? {} : { allowCredentials: allow.map((id) => ({ id })) })
          })
        )
        return plain(options)
      }),

      /** The new key in an attestation of this challenge. */
      attested: Effect.fnUntraced(function* (attestation: string, challenge: string, passkey: boolean) {
        const { verifyRegistrationResponse } = yield* library
        return yield* Effect.tryPromise({
          try: async () => {
            const { registrationInfo, verified } = await verifyRegistrationResponse({
              response: JSON.parse(attestation) as WebAuthn.RegistrationResponseJSON,
              expectedChallenge: challenge,
              expectedOrigin: [...origins],
              expectedRPID: rpId,
              requireUserVerification: passkey,
              supportedAlgorithmIDs: algorithms
            })
            if (!verified) throw new TypeError("The attestation is invalid")
            const { credential, credentialBackedUp } = registrationInfo
            return {
              id: credential.id,
              publicKey: Buffer.from(credential.publicKey).toString("base64"),
              counter: credential.counter,
              transports: (credential.transports ?? []).filter((name) => /^[a-z-]{1,20}$/.test(name)),
              backedUp: credentialBackedUp
            }
          },
          catch: () => invalidSecurityKey
        })
      }),

      /**
       * The signature counter of a valid assertion. The caller judges it, after the signature: the library would compare it
       * before, and reject assertions that arrive in another order than they were signed.
       */
      asserted: Effect.fnUntraced(function* (assertion: string, challenge: string, key: StoredKey, passkey: boolean) {
        const { verifyAuthenticationResponse } = yield* library
        return yield* Effect.tryPromise({
          try: async () => {
            const { authenticationInfo, verified } = await verifyAuthenticationResponse({
              response: JSON.parse(assertion) as WebAuthn.AuthenticationResponseJSON,
              expectedChallenge: challenge,
              expectedOrigin: [...origins],
              expectedRPID: rpId,
              requireUserVerification: passkey,
              credential: {
                id: key.id,
                publicKey: new Uint8Array(Buffer.from(key.publicKey, "base64")),
                counter: 0,
                transports: [...key.transports] as Array<WebAuthn.AuthenticatorTransport>
              }
            })
            if (!verified) throw new TypeError("The assertion is invalid")
            return authenticationInfo.newCounter
          },
          catch: () => invalidPasskey
        })
      })
    }
  })
}) {
  static readonly layer = Layer.effect(KeyChecks, KeyChecks.make)
}
