import { Effect } from "effect"
import { randomBytes, randomInt } from "node:crypto"
import { type Mails } from "../../../services/identity/Mails.ts"
import { type IdentitySignatures } from "../../../services/identity/Signatures.ts"
import { CurrentDevice } from "../../../services/ports/identity/Accounts.ts"
import { type Way } from "./Flows.ts"
import { type Limits } from "./Limits.ts"
import { hashOf } from "./Store.ts"

const texts = {
  recovery: {
    subject: "Recover your account",
    intro: "Someone, probably you, asked to recover the account with this address.",
    outro: "If it was not you, ignore this message: nothing has changed."
  },
  verification: {
    subject: "Confirm your address",
    intro: "Confirm that this is your e-mail address.",
    outro: "If you do not know why you got this message, ignore it."
  },
  email: {
    subject: "Confirm your new address",
    intro: "Confirm that this is the new e-mail address of your account.",
    outro: "If you do not know why you got this message, ignore it."
  },
  registration: {
    subject: "Complete your registration",
    intro: "Confirm your e-mail address to create your account.",
    outro: "If you did not register, ignore this message: no account will be created."
  }
}

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
      kind: keyof typeof texts,
      flowId: string,
      to: { readonly value: string; readonly lookup: string },
      identity: string | null,
      mailed = true
    ) {
      const token = randomBytes(32).toString("base64url")
      const code = String(randomInt(100_000_000)).padStart(8, "0")
      const link = `${ownUrl}/auth/${pages[kind]}?flow=${flowId}&token=${token}`
      const { intro, outro, subject } = texts[kind]
      const way: Way = { token: hashOf(token), code: yield* codeOf(flowId, code), identity, lookup: to.lookup, mailed }
      const body = `${intro}\n\nOpen this page:\n${link}\n\nor enter this code where you were asked for it: ${code}\n\n${outro}\n`
      return { way, link, mail: mails.send(to.value, `${subject} – ${host}`, body) }
    }),
    notice: (to: string, subject: string, text: string) => mails.send(to, `${subject} – ${host}`, `${text}\n`)
  }
}
export type Messages = ReturnType<typeof makeMessages>
