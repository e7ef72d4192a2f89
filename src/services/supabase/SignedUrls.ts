import { Clock, Context, Effect, Layer, Schema } from "effect"
import { InvalidRequest, type Unavailable } from "../../domain/errors.ts"
import { IdentitySignatures } from "../access/Signatures.ts"

const Payload = Schema.fromJsonString(
  Schema.Struct({
    url: Schema.String,
    scope: Schema.Literals(["download", "upload"]),
    sub: Schema.String,
    upsert: Schema.Boolean,
    exp: Schema.Number
  })
)

/** The rights of a signed URL's holder. */
export interface SignedRight {
  /** `<bucket>/<name>`. */
  readonly url: string
  readonly scope: "download" | "upload"
  /** The owner of an upload; "" for none. */
  readonly sub: string
  readonly upsert: boolean
}

const purpose = "supabase storage url"
const invalid = new InvalidRequest({ error: "Invalid signature", code: "InvalidSignature" })
const expired = new InvalidRequest({ error: '"exp" claim timestamp check failed', code: "InvalidJWT" })
const maxToken = 8192
const header = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString("base64url")

/** Tokens of signed URLs: in the form of JWTs, but signed with a key that signs nothing else, so that they are no JWTs elsewhere. */
export class SignedUrls extends Context.Service<
  SignedUrls,
  {
    readonly sign: (right: SignedRight, seconds: number) => Effect.Effect<string, Unavailable>
    /** The right and the time when it ends, in ms, if the token is for this URL and scope. */
    readonly verify: (
      token: string,
      url: string,
      scope: SignedRight["scope"]
    ) => Effect.Effect<SignedRight & { readonly until: number }, InvalidRequest | Unavailable>
  }
>()("svc/services/SignedUrls") {
  static readonly layer = Layer.effect(
    SignedUrls,
    Effect.gen(function* () {
      const signatures = yield* IdentitySignatures
      const clock = yield* Clock.Clock
      const decode = Schema.decodeUnknownEffect(Payload)
      return SignedUrls.of({
        sign: (right, seconds) => {
          const iat = Math.floor(clock.currentTimeMillisUnsafe() / 1000)
          const payload = Buffer.from(JSON.stringify({ ...right, iat, exp: iat + seconds })).toString("base64url")
          const signed = `${header}.${payload}`
          return Effect.map(signatures.sign(purpose, signed), (signature) => `${signed}.${signature}`)
        },
        verify: Effect.fn("SignedUrls.verify")(function* (token, url, scope) {
          const [head, payload, signature = "", more] = token.length > maxToken ? [] : token.split(".", 4)
          if (more !== undefined || !(yield* signatures.verify(purpose, `${head}.${payload}`, signature))) {
            return yield* invalid
          }
          const right = yield* Effect.mapError(
            decode(Buffer.from(payload ?? "", "base64url").toString("utf8")),
            () => invalid
          )
          if (right.url !== url || right.scope !== scope) return yield* invalid
          const until = right.exp * 1000
          return until <= clock.currentTimeMillisUnsafe() ? yield* expired : { ...right, until }
        })
      })
    })
  )
}
