import { Context, Effect, Layer, Schema } from "effect"
import { type MailText } from "../../../../domain/language/Language.ts"
import { mailsExceeded, otpExpired } from "../../../../domain/supabase/AuthErrors.ts"
import { isJsonObject } from "../../../../domain/text/JsonObject.ts"
import { JsonObjectSchema } from "../../../../domain/text/JsonObjectSchema.ts"
import { type Challenge, type MailKind, type OneTimeProof } from "../../../ports/supabase/AuthCalls.ts"
import { Limits } from "../limits/Limits.ts"
import { MailedSecrets, wrongCodesOfMail } from "../mails/MailedSecrets.ts"
import { AccountMessages } from "../Messages.ts"
import { hashOf, AccountStore } from "../Store.ts"
import { AccountSettings } from "../../AccountSettings.ts"

const Row = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literals([
    "signup",
    "magiclink",
    "recovery",
    "invite",
    "email_change_new",
    "email_change_current",
    "reauthentication"
  ]),
  lookup: Schema.String,
  identity_id: Schema.NullOr(Schema.String),
  code: Schema.String,
  data: JsonObjectSchema,
  /** In s since 1970. */
  sent: Schema.Finite
})
export type OneTime = typeof Row.Type

const columns = `id::text, kind, lookup, identity_id::text, code, data, extract(epoch from created_at)::float8 as sent`

/** The PKCE challenge of the client that requested a mail. */
export const pkceChallengeOf = ({ data: { challenge } }: OneTime): Challenge | undefined =>
  isJsonObject(challenge)
    ? { value: String(challenge["value"]), method: challenge["method"] as Challenge["method"] }
    : undefined

/** The clients' names of the kinds. `email` is for a code of a sign-in or a sign-up. */
const kindsOf: Readonly<Record<string, ReadonlyArray<MailKind>>> = {
  email: ["magiclink", "signup"],
  signup: ["signup"],
  magiclink: ["magiclink", "signup"],
  recovery: ["recovery"],
  invite: ["invite"],
  email_change: ["email_change_new", "email_change_current"],
  reauthentication: ["reauthentication"]
}
export const typeOf = (kind: MailKind) => (kind.startsWith("email_change") ? "email_change" : kind)

const texts: Readonly<Record<MailKind, MailText>> = {
  signup: "verification",
  magiclink: "signIn",
  recovery: "recovery",
  invite: "invite",
  email_change_new: "email",
  email_change_current: "email",
  reauthentication: "again"
}

/** Tokens and codes that are mailed. Of each kind an address has one, the newest. */
export class OneTimes extends Context.Service<OneTimes>()("svc/identity/OneTimes", {
  make: Effect.gen(function* () {
    const { flowSeconds: seconds, ownUrl } = yield* AccountSettings
    const secrets = yield* MailedSecrets
    const store = yield* AccountStore
    const messages = yield* AccountMessages
    const limits = yield* Limits
    const rows = store.rows(Row)

    return {
      /**
       * 429, the same for addresses without an account: counted before anything is looked up, and for each client, so that none
       * uses up what the owner of the address may request.
       */
      mayMail: Effect.fnUntraced(function* (kind: MailKind, lookup: string) {
        if (!(yield* limits.mailOfClient(texts[kind], lookup))) return yield* mailsExceeded(60)
      }),
      /** Whether an address may get another mail. Ask only when one is about to be sent. */
      mailTo: (kind: MailKind, lookup: string) => limits.mailTo(texts[kind], lookup),
      /** A new token and code. `send`: the mail, to be sent in the same transaction; without it the caller hands them over. */
      make: Effect.fnUntraced(function* (given: {
        readonly kind: MailKind
        readonly to: { readonly value: string; readonly lookup: string }
        readonly identityId: string | null
        readonly challenge: Challenge | undefined
        readonly redirectTo: string
        readonly data?: object
        readonly mailed: boolean
      }) {
        const { challenge, identityId, kind, mailed, redirectTo, to } = given
        const id = crypto.randomUUID()
        const { code, stored, token } = yield* secrets.make(id, challenge === undefined ? "supabase" : "pkce")
        const data = { ...given.data, mailed, redirectTo, challenge }
        yield* store.count(
          `insert into svc.supabase_mails as m (id, kind, lookup, identity_id, token_hash, code, data, expires_at)
         values ($1::text::uuid, $2, $3, $4::text::uuid, $5, $6, $7::text::jsonb, now() + make_interval(secs => $8::float8))
         on conflict (kind, lookup) do update set id = excluded.id, identity_id = excluded.identity_id,
           token_hash = excluded.token_hash, code = excluded.code, data = excluded.data, tries = 0, created_at = now(),
           expires_at = excluded.expires_at, used_at = null
         returning 1`,
          [id, kind, to.lookup, identityId, stored.token, stored.code, JSON.stringify(data), seconds]
        )
        const link = `${ownUrl}/auth/v1/verify?${new URLSearchParams({ token, type: typeOf(kind), redirect_to: redirectTo })}`
        const ofHook =
          // Supabase's receivers send what is `…_new` to one address and the rest to the other; never both to one.
          kind === "email_change_new"
            ? { token: "", token_new: code, token_hash: token }
            : kind === "email_change_current"
              ? { token: code, token_hash_new: token }
              : { token: code, token_hash: token }
        const ways = {
          ...ofHook,
          code,
          link: kind === "reauthentication" ? undefined : link,
          redirect_to: redirectTo,
          site_url: `${ownUrl}/auth/v1`
        }
        return { token, code, link, send: messages.withCode(texts[kind], to.value, ways, identityId) }
      }),

      /** The one that a proof is of; it is not used up. */
      find: Effect.fnUntraced(function* (proof: OneTimeProof & { readonly lookup?: string }) {
        const kinds = kindsOf[proof.type] ?? []
        if ("tokenHash" in proof) {
          const [row] = yield* rows(
            `select ${columns} from svc.supabase_mails
           where token_hash = $1 and kind = any ($2::text[]) and used_at is null and expires_at > now()`,
            [hashOf(proof.tokenHash), kinds]
          )
          return row ?? (yield* otpExpired)
        }
        const { code, lookup = "" } = proof
        const attempt = Effect.gen(function* () {
          // Counted before they are compared, so that parallel guesses count too.
          const tried = yield* rows(
            `update svc.supabase_mails set tries = tries + 1 where kind = any ($1::text[]) and lookup = $2
             and used_at is null and expires_at > now() and tries < ${wrongCodesOfMail} returning ${columns}`,
            [kinds, lookup]
          )
          for (const row of tried) if (yield* secrets.isCode(row.id, code, row)) return row
          return yield* otpExpired
        })
        return yield* secrets.guess(lookup, attempt)
      }),

      /** A mail is used once, even if two requests arrive together. */
      use: Effect.fnUntraced(function* ({ id }: OneTime) {
        const used = yield* store.count(
          "update svc.supabase_mails set used_at = now() where id = $1::text::uuid and used_at is null returning 1",
          [id]
        )
        if (used === 0) return yield* otpExpired
      }),

      /** Whether a mail has not ended since it was found (TakeBack.ts). In a transaction that locks the account. */
      stands: ({ id }: OneTime) =>
        Effect.map(
          store.count("select 1 from svc.supabase_mails where id = $1::text::uuid and not data ? 'over'", [id]),
          (count) => count > 0
        ),
      /** Records that one of the two addresses of a change has agreed; returns whether both have. */
      agreed: Effect.fnUntraced(function* ({ data, id, identity_id }: OneTime) {
        yield* store.count(
          "update svc.supabase_mails set used_at = coalesce(used_at, now()) where id = $1::text::uuid returning 1",
          [id]
        )
        const both = yield* store.count(
          `select 1 from svc.supabase_mails where identity_id = $1::text::uuid and data ->> 'change' = $2 and used_at is not null
           and kind in ('email_change_new', 'email_change_current')`,
          [identity_id, data["change"]]
        )
        return both === 2
      }),

      /** The newest of a kind, valid or not. */
      pending: (kind: MailKind, lookup: string) =>
        Effect.map(
          rows(`select ${columns} from svc.supabase_mails where kind = $1 and lookup = $2 and used_at is null`, [
            kind,
            lookup
          ]),
          ([row]) => row
        ),
      byToken: (token: string) =>
        Effect.map(
          rows(
            `select ${columns} from svc.supabase_mails where token_hash = $1 and used_at is null and expires_at > now()`,
            [hashOf(token)]
          ),
          ([row]) => row
        ),
      byId: (id: string) =>
        Effect.map(rows(`select ${columns} from svc.supabase_mails where id = $1::text::uuid`, [id]), ([row]) => row),
      /** Whether a mail that signs in was requested for an address, and is still valid. */
      signsIn: (lookup: string) =>
        Effect.map(
          store.count(
            "select 1 from svc.supabase_mails where kind in ('magiclink', 'recovery', 'invite') and lookup = $1 and expires_at > now()",
            [lookup]
          ),
          (count) => count > 0
        ),
      byUsedToken: (token: string) =>
        Effect.map(
          rows(`select ${columns} from svc.supabase_mails where token_hash = $1`, [hashOf(token)]),
          ([row]) => row
        )
    }
  })
}) {
  static readonly layer = Layer.effect(OneTimes, OneTimes.make)
}
