import { Option, Schema } from "effect"

const base64url = /^[A-Za-z0-9_-]+={0,2}$/
const Text = Schema.fromJsonString(
  Schema.Struct({
    id: Schema.String,
    rawId: Schema.String,
    type: Schema.Literal("public-key"),
    response: Schema.Record(Schema.String, Schema.Unknown)
  })
)
const decode = Schema.decodeUnknownOption(Text)

/**
 * The id in a credential as JSON text (WebAuthn 3, RegistrationResponseJSON or AuthenticationResponseJSON); undefined
 * when the text is none, or does not have what is named of its response. Nothing in it is verified.
 */
export const credentialIdOf = (text: string, needed: ReadonlyArray<string>): Uint8Array | undefined =>
  Option.getOrUndefined(
    Option.flatMap(decode(text), ({ id, rawId, response }) => {
      const fields = [id, rawId, ...needed.map((name) => response[name])]
      return fields.every((field) => typeof field === "string" && base64url.test(field))
        ? Option.some(Buffer.from(rawId, "base64url"))
        : Option.none()
    })
  )
