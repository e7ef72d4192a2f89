import { Context, Effect, Layer } from "effect"
import { type MailText, withValues, type Words, wordsOf } from "../../../domain/language/Language.ts"
import { CurrentLanguage } from "../CurrentLanguage.ts"
import { type MailData, Mails } from "../Mails.ts"
import { type Way } from "./Flows.ts"
import { Limits } from "./limits/Limits.ts"
import { MailedSecrets } from "./mails/MailedSecrets.ts"
import { AccountStore, type Owner } from "./Store.ts"
import { AccountSettings } from "../AccountSettings.ts"

/** Kinds of mails and notices as hooks know them, which Supabase has named. */
const actions: Readonly<Record<MailText, string>> = {
  recovery: "recovery",
  verification: "signup",
  registration: "signup",
  email: "email_change",
  signIn: "magiclink",
  invite: "invite",
  again: "reauthentication"
}
const notifications: Readonly<Record<keyof Words["notices"], string>> = {
  known: "signed_up_again_notification",
  password: "password_changed_notification",
  address: "email_change_requested_notification",
  totp: "mfa_factor_enrolled_notification",
  key: "mfa_factor_enrolled_notification",
  passkey: "passkey_enrolled_notification",
  codes: "recovery_codes_created_notification",
  removed: "sign_in_method_removed_notification",
  linked: "identity_linked_notification"
}

const pages = { recovery: "recovery", verification: "verify", email: "verify", registration: "verify" } as const

/** The ways of a mail through its flow, and what else a hook gets of it. */
interface MailedWays extends Omit<MailData, "email_action_type" | "site_url" | "link"> {
  readonly code: string
  readonly link: string | undefined
  readonly site_url?: string
}

/** E-mails with a link and a code. Links start with our own URL, never with a value of the request. */
export class AccountMessages extends Context.Service<AccountMessages>()("svc/identity/AccountMessages", {
  make: Effect.gen(function* () {
    const { ownUrl } = yield* AccountSettings
    const mails = yield* Mails
    const secrets = yield* MailedSecrets
    const limits = yield* Limits
    const store = yield* AccountStore
    const { host } = new URL(ownUrl)

    /**
     * Whether a message may be sent to an address. Ask only when one is about to be sent: what sends nothing must not use up what
     * the owner of the address may get, nor must messages of other kinds, or those that other clients request.
     */
    const allowed = Effect.fnUntraced(function* (kind: keyof typeof pages, lookup: string) {
      return (yield* limits.mailOfClient(kind, lookup)) && (yield* limits.mailTo(kind, lookup))
    })

    /** Sends a mail with a code, and a link unless it is undefined. */
    const withCode = Effect.fnUntraced(function* (
      kind: MailText,
      to: string,
      { code, link, ...data }: MailedWays,
      identity: string | null
    ) {
      const { mails: words } = wordsOf(yield* CurrentLanguage)
      const { intro, outro, subject } = words[kind]
      const ways = [...(link === undefined ? [] : [`${words.link}\n${link}`]), withValues(words.code, { code })]
      const text = [intro, ...ways, outro].join("\n\n") + "\n"
      yield* mails.send(to, `${subject} – ${host}`, text, identity, {
        email_action_type: actions[kind],
        site_url: ownUrl,
        token: code,
        ...(link === undefined ? {} : { link }),
        ...data
      })
    })

    /** Sends a notice to the owner of an account. `name`: the thing that it is about. */
    const notice = Effect.fnUntraced(function* (kind: keyof Words["notices"], identity: string, to: string, name = "") {
      const { subject, text } = wordsOf(yield* CurrentLanguage).notices[kind]
      const written = `${withValues(text, { name })}\n`
      yield* mails.send(to, `${withValues(subject, { name })} – ${host}`, written, identity, {
        email_action_type: notifications[kind],
        site_url: ownUrl,
        ...(kind === "linked" ? { provider: name } : {})
      })
    })

    return {
      allowed,
      withCode,
      /** Notifies the owner of an address with which another person, or they themselves, signs up again. */
      signedUpAgain: ({ active, id, value }: Owner) => (active ? notice("known", id, value) : Effect.void),
      /** A new way through a flow; `mail` sends it. */
      way: Effect.fnUntraced(function* (
        kind: keyof typeof pages,
        flowId: string,
        to: { readonly value: string; readonly lookup: string },
        identity: string | null,
        mailed = true
      ) {
        const { code, stored, token } = yield* secrets.make(flowId, "pages")
        const link = `${ownUrl}/auth/${pages[kind]}?flow=${flowId}&token=${token}`
        const way: Way = { ...stored, identity, lookup: to.lookup, mailed }
        return { way, link, mail: withCode(kind, to.value, { link, code, token_hash: token }, identity) }
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
