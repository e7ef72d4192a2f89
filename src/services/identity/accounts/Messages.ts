import { Context, Effect, Layer } from "effect"
import { randomBytes, randomInt } from "node:crypto"
import { withValues, type Words, wordsOf } from "../../../domain/language/Language.ts"
import { CurrentLanguage } from "../CurrentLanguage.ts"
import { Mails } from "../Mails.ts"
import { IdentitySignatures } from "../../access/Signatures.ts"
import { CurrentDevice } from "../../ports/identity/Accounts.ts"
import { type Way } from "./Flows.ts"
import { Limits } from "./limits/Limits.ts"
import { hashOf, AccountStore } from "./Store.ts"
import { AccountSettings } from "../AccountSettings.ts"

const pages = { recovery: "recovery", verification: "verify", email: "verify", registration: "verify" } as const

/** E-mails with a link and a code. Links start with our own URL, never with a value of the request. */
export class AccountMessages extends Context.Service<AccountMessages>()("svc/identity/AccountMessages", {
  make: Effect.gen(function* () {
    const { ownUrl } = yield* AccountSettings
    const mails = yield* Mails
    const signatures = yield* IdentitySignatures
    const limits = yield* Limits
    const store = yield* AccountStore
    const codeOf = (flowId: string, code: string) => signatures.sign("mail-code", `${flowId} ${code}`)
    const { host } = new URL(ownUrl)

    /**
     * Whether a message may be sent to an address. Ask only when one is about to be sent: what sends nothing must not use up what
     * the owner of the address may get, nor must messages of other kinds, or those that other clients request.
     */
    const allowed = Effect.fnUntraced(function* (kind: keyof typeof pages, lookup: string) {
      const { client } = yield* CurrentDevice
      if (client === undefined) return true
      return (yield* limits.mailOfClient(kind, lookup, 20, 3)) && (yield* limits.mailTo(kind, lookup))
    })

    /** The text of a mail with a code, and a link unless it is undefined. */
    const compose = Effect.fnUntraced(function* (
      kind: keyof Omit<Words["mails"], "link" | "code">,
      link: string | undefined,
      code: string
    ) {
      const { mails: words } = wordsOf(yield* CurrentLanguage)
      const { intro, outro, subject } = words[kind]
      const ways = [...(link === undefined ? [] : [`${words.link}\n${link}`]), withValues(words.code, { code })]
      return { subject: `${subject} – ${host}`, body: [intro, ...ways, outro].join("\n\n") + "\n" }
    })

    /** Sends a notice to the owner of an account. `name`: the thing that it is about. */
    const notice = Effect.fnUntraced(function* (kind: keyof Words["notices"], identity: string, to: string, name = "") {
      const { subject, text } = wordsOf(yield* CurrentLanguage).notices[kind]
      yield* mails.send(to, `${withValues(subject, { name })} – ${host}`, `${withValues(text, { name })}\n`, identity)
    })

    return {
      codeOf,
      allowed,
      compose,
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
        const way: Way = {
          token: hashOf(token),
          code: yield* codeOf(flowId, code),
          identity,
          lookup: to.lookup,
          mailed
        }
        const { body, subject } = yield* compose(kind, link, code)
        return { way, link, mail: mails.send(to.value, subject, body, identity) }
      }),
      /** Sends a notice to the owner of an account, whose address is looked up. */
      toOwner: Effect.fnUntraced(function* (kind: keyof Words["notices"], identityId: string) {
        const { addresses } = yield* Effect.orDie(store.identity(identityId))
        const to = addresses[0]?.value
        if (to !== undefined) yield* notice(kind, identityId, to)
      }),
      notice
    }
  })
}) {
  static readonly layer = Layer.effect(AccountMessages, AccountMessages.make)
}
