import { Effect } from "effect"
import { randomBytes, randomInt } from "node:crypto"
import { withValues, type Words } from "../../../domain/language/Language.ts"
import { wordsOf } from "../../../domain/language/Words.ts"
import { CurrentLanguage } from "../CurrentLanguage.ts"
import { type Mails } from "../Mails.ts"
import { type IdentitySignatures } from "../../access/Signatures.ts"
import { CurrentDevice } from "../../ports/identity/Accounts.ts"
import { type Way } from "./Flows.ts"
import { type Limits } from "./limits/Limits.ts"
import { hashOf, type Store } from "./Store.ts"

const pages = { recovery: "recovery", verification: "verify", email: "verify", registration: "verify" } as const

/** E-mails with a link and a code. Links start with our own URL, never with a value of the request. */
export const makeMessages = (
  ownUrl: string,
  mails: Mails["Service"],
  signatures: IdentitySignatures["Service"],
  limits: Limits,
  store: Store
) => {
  const codeOf = (flowId: string, code: string) => signatures.sign("mail-code", `${flowId} ${code}`)
  const { host } = new URL(ownUrl)

  /**
   * Whether a message may be sent to an address. Ask only when one is about to be sent: what sends nothing must not use up what
   * the owner of the address may get, nor must messages of other kinds, or those that other clients request.
   */
  const allowed = Effect.fnUntraced(function* (kind: keyof typeof pages, lookup: string) {
    const { client } = yield* CurrentDevice
    if (client === undefined) return true
    return (
      (yield* limits.allows("mails of", client, 20, 3600)) &&
      (yield* limits.allows(`${kind} mails of a client to`, `${client} ${lookup}`, 3, 900)) &&
      (yield* limits.allows(`${kind} mails to`, lookup, 10, 900))
    )
  })

  /** Sends a notice to the owner of an account. `name`: the thing that it is about. */
  const notice = Effect.fnUntraced(function* (kind: keyof Words["notices"], identity: string, to: string, name = "") {
    const { subject, text } = wordsOf(yield* CurrentLanguage).notices[kind]
    yield* mails.send(to, `${withValues(subject, { name })} – ${host}`, `${withValues(text, { name })}\n`, identity)
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
      const body = `${intro}\n\n${texts.link}\n${link}\n\n${withValues(texts.code, { code })}\n\n${outro}\n`
      return { way, link, mail: mails.send(to.value, `${subject} – ${host}`, body, identity) }
    }),
    /** Sends a notice to the owner of an account, whose address is looked up. */
    toOwner: Effect.fnUntraced(function* (kind: keyof Words["notices"], identityId: string) {
      const { addresses } = yield* Effect.orDie(store.identity(identityId))
      const to = addresses[0]?.value
      if (to !== undefined) yield* notice(kind, identityId, to)
    }),
    notice
  }
}
export type Messages = ReturnType<typeof makeMessages>
