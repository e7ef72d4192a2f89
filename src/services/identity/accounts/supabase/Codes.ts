import { Context, Effect, Layer, Schema } from "effect"
import { createHash } from "node:crypto"
import { badVerifier, noFlowState } from "../../../../domain/supabase/AuthErrors.ts"
import { JsonObjectSchema } from "../../../../domain/text/JsonObjectSchema.ts"
import { IdentitySeals } from "../../../access/Seals.ts"
import { type ProvidedSignIn } from "../../../ports/identity/Providers.ts"
import { type Challenge } from "../../../ports/supabase/AuthCalls.ts"
import { hashOf, AccountStore } from "../Store.ts"
import { SupabaseTokens } from "./Tokens.ts"

/** How long a code is valid, in s. */
const codeSeconds = 300
const CodeRow = Schema.Struct({ identity_id: Schema.String, data: JsonObjectSchema })

const ProviderTokens = Schema.fromJsonString(
  Schema.Struct({ provider_token: Schema.String, provider_refresh_token: Schema.optionalKey(Schema.String) })
)
const readProviderTokens = Schema.decodeUnknownEffect(ProviderTokens)

/** The provider's tokens in the form that clients receive. */
export const providerTokens = ({
  refreshToken,
  token
}: Omit<ProvidedSignIn, "person">): typeof ProviderTokens.Type => ({
  provider_token: token,
  ...(refreshToken === undefined ? {} : { provider_refresh_token: refreshToken })
})

const placeOf = (codeHash: string) => `tokens of a provider for ${codeHash}`

/** Whether a verifier is the one that a challenge was made of (RFC 7636 4.6). */
const isVerified = (data: typeof JsonObjectSchema.Type, verifier: string) => {
  if (!/^[\w.~-]{43,128}$/.test(verifier)) return false
  const value = data["method"] === "plain" ? verifier : createHash("sha256").update(verifier).digest("base64url")
  // Base64url of a hash, or a text that the client chose: neither is worth a timing attack, being used once.
  return value === data["challenge"]
}

/** Codes that clients with PKCE (RFC 7636) exchange for a session. */
export class SupabaseCodes extends Context.Service<SupabaseCodes>()("svc/identity/SupabaseCodes", {
  make: Effect.gen(function* () {
    const store = yield* AccountStore
    const seals = yield* IdentitySeals
    const tokens = yield* SupabaseTokens
    const codes = store.rows(CodeRow)

    return {
      /**
       * A code to be exchanged by the client that has the verifier. `mail`: the mail that it uses up; `provided`: the tokens that
       * the client gets with the session, which are stored sealed, and only until then.
       */
      codeFor: Effect.fnUntraced(function* (
        userId: string,
        method: string,
        { method: how, value }: Challenge,
        { mail, provided }: { readonly mail?: string; readonly provided?: ReturnType<typeof providerTokens> } = {}
      ) {
        const code = crypto.randomUUID()
        const place = placeOf(hashOf(code))
        const sealed = provided === undefined ? undefined : yield* seals.seal(place, JSON.stringify(provided))
        yield* store.count(
          `insert into svc.supabase_codes (hash, identity_id, data, expires_at)
         values ($1, $2::text::uuid, $3::text::jsonb, now() + make_interval(secs => ${codeSeconds})) returning 1`,
          [hashOf(code), userId, JSON.stringify({ amr: method, challenge: value, method: how, mail, sealed })]
        )
        return code
      }),

      /** `prove`: applies the code's mail, once the client that requested the mail has proven to have its code. */
      exchange: Effect.fnUntraced(function* <E>(
        code: string,
        verifier: string,
        prove: (code: {
          readonly userId: string
          readonly method: string
          readonly mail: string | undefined
        }) => Effect.Effect<void, E>
      ) {
        const [row] = yield* codes(
          "select identity_id::text, data from svc.supabase_codes where hash = $1 and identity_id is not null and expires_at > now()",
          [hashOf(code)]
        )
        if (row === undefined) return yield* noFlowState
        if (!isVerified(row.data, verifier)) return yield* badVerifier
        const { amr, mail, sealed } = row.data
        // One of several parallel exchanges succeeds; the other codes of a mail end with it.
        const taken = yield* store.count("delete from svc.supabase_codes where hash = $1 returning 1", [hashOf(code)])
        if (taken === 0) return yield* noFlowState
        if (typeof mail === "string") {
          const unused = yield* store.count(
            "update svc.supabase_mails set used_at = now() where id = $1::text::uuid and used_at is null returning 1",
            [mail]
          )
          if (unused === 0) return yield* noFlowState
        }
        yield* prove({
          userId: row.identity_id,
          method: String(amr),
          mail: typeof mail === "string" ? mail : undefined
        })
        const session = yield* tokens.open(row.identity_id, String(amr))
        if (typeof sealed !== "string") return session
        const text = yield* seals.unseal(placeOf(hashOf(code)), sealed)
        return { ...session, ...(yield* Effect.orDie(readProviderTokens(text))) }
      })
    }
  })
}) {
  static readonly layer = Layer.effect(SupabaseCodes, SupabaseCodes.make)
}
