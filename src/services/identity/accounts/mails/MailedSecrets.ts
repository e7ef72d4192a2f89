import { Context, Effect, Layer } from "effect"
import { randomBytes, randomInt, timingSafeEqual } from "node:crypto"
import { IdentitySignatures } from "../../../access/Signatures.ts"
import { Limits } from "../limits/Limits.ts"
import { hashOf } from "../Store.ts"

/** Codes of one mail that may be wrong. */
export const wrongCodesOfMail = 5

/** What the readers of a mail can type, and what their clients accept in a link. */
const forms = {
  pages: { digits: 8, token: () => randomBytes(32).toString("base64url") },
  /** As at Supabase, whose clients have fields for six digits. */
  supabase: { digits: 6, token: () => randomBytes(28).toString("hex") },
  /** The token of a client that exchanges a code, which it knows by the prefix. */
  pkce: { digits: 6, token: () => `pkce_${randomBytes(28).toString("hex")}` }
} as const

/** Compares signatures or hashes in constant time. */
const isSameSecret = (one: string, other: string) => {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** What is stored of a mail: its link's token as a hash, and its code, which has few bits, signed. */
interface StoredSecrets {
  readonly token: string
  readonly code: string
}

/** The tokens and codes of mails: how they are made, compared and guessed. Both APIs of accounts use them. */
export class MailedSecrets extends Context.Service<MailedSecrets>()("svc/identity/MailedSecrets", {
  make: Effect.gen(function* () {
    const signatures = yield* IdentitySignatures
    const limits = yield* Limits
    const signed = (id: string, code: string) => signatures.sign("mail-code", `${id} ${code}`)

    return {
      /** A new token and code of the mail or flow with this id. */
      make: Effect.fnUntraced(function* (id: string, form: keyof typeof forms) {
        const { digits, token: newToken } = forms[form]
        const token = newToken()
        const code = String(randomInt(10 ** digits)).padStart(digits, "0")
        const stored: StoredSecrets = { token: hashOf(token), code: yield* signed(id, code) }
        return { token, code, stored }
      }),
      isCode: (id: string, code: string, stored: Pick<StoredSecrets, "code">) =>
        Effect.map(signed(id, code), (signature) => isSameSecret(stored.code, signature)),
      isToken: (token: string, stored: Pick<StoredSecrets, "token">) => isSameSecret(stored.token, hashOf(token)),
      /**
       * Limits guesses of codes, by client and, where a guess needs no more than an address, by that. Fails as `attempt` does for
       * a wrong one; a right one counts for none.
       */
      guess: Effect.fnUntraced(function* <A, E, R>(lookup: string | undefined, attempt: Effect.Effect<A, E, R>) {
        yield* limits.takeOfClient("mailed codes of")
        if (lookup !== undefined) yield* limits.take("codes of", lookup)
        const right = yield* attempt
        yield* limits.refundClient("mailed codes of")
        if (lookup !== undefined) yield* limits.refund("codes of", lookup)
        return right
      })
    }
  })
}) {
  static readonly layer = Layer.effect(MailedSecrets, MailedSecrets.make)
}
