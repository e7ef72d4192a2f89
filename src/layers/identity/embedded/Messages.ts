import { Effect } from "effect"
import { randomBytes, randomInt } from "node:crypto"
import { filled, type Words } from "../../../domain/language/Language.ts"
import { wordsOf } from "../../../domain/language/Words.ts"
import { CurrentLanguage } from "../../../services/identity/CurrentLanguage.ts"
import { type Mails } from "../../../services/identity/Mails.ts"
import { type IdentitySignatures } from "../../../services/identity/Signatures.ts"
import { CurrentDevice } from "../../../services/ports/identity/Accounts.ts"
import { type Way } from "./Flows.ts"
import { type Limits } from "./Limits.ts"
import { hashOf } from "./Store.ts"

const pages = { recovery: "recovery", verification: "verify", email: "verify", registration: "verify" } as const

/** E-mails with a link and a code. Links start with our own URL, never with what a request says. */
export const makeMessages = (
  ownUrl: string,
  mails: Mails["Service"],
  signatures: IdentitySignatures["Service"],
  limits: Limits
) => {
  const codeOf = (flowId: string, code: string) => signatures.sign("mail-code", `${flowId} ${code}`)
  const { host } = new URL(ownUrl)

  /** Whether an address and its client may get another message. The caller answers the same either way. */
  const allowed = Effect.fnUntraced(function* (lookup: string) {
    const { client } = yield* CurrentDevice
    if (client === undefined) return true
    return (yield* limits.allows("mails of", client, 20, 3600)) && (yield* limits.allows("mails to", lookup, 3, 900))
  })

  return {
    codeOf,
    allowed,
    /** A new way through a flow; `mail` sends it. */
    way: Effect.fnUntraced(function* (
      kind: keyof typeof pages,
      flowId: string,
      to: { readonly value: string; readonly lookup: string },
      identity: string | null,
      mailed = true
    ) {
      const token = randomBytes(32).toString("base64url")
      const code = String(randomInt(100_000_000)).padStart(8, "0")
      const link = `${ownUrl}/auth/${pages[kind]}?flow=${flowId}&token=${token}`
      const { mails: texts } = wordsOf(yield* CurrentLanguage)
      const { intro, outro, subject } = texts[kind]
      const way: Way = { token: hashOf(token), code: yield* codeOf(flowId, code), identity, lookup: to.lookup, mailed }
      const body = `${intro}\n\n${texts.link}\n${link}\n\n${filled(texts.code, { code })}\n\n${outro}\n`
      return { way, link, mail: mails.send(to.value, `${subject} – ${host}`, body) }
    }),
    /** `name`: of what it is about. */
    notice: Effect.fnUntraced(function* (kind: keyof Words["notices"], to: string, name = "") {
      const { subject, text } = wordsOf(yield* CurrentLanguage).notices[kind]
      yield* mails.send(to, `${filled(subject, { name })} – ${host}`, `${filled(text, { name })}\n`)
    })
  }
}
export type Messages = ReturnType<typeof makeMessages>
