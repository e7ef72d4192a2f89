import { type AccountSettings } from "../../AccountSettings.ts"
import { type Mails } from "../../Mails.ts"
import { type Meters } from "../../../metrics/Meters.ts"
import { type OwnSigningKeys } from "../../../access/OwnSigningKeys.ts"
import { type IdentitySeals } from "../../../access/Seals.ts"
import { type AuthCalls } from "../../../ports/supabase/AuthCalls.ts"
import { type KeyChecks } from "../factors/KeyChecks.ts"
import { type EmbeddedKeys } from "../factors/Keys.ts"
import { type EmbeddedTotp } from "../factors/Totp.ts"
import { type Flows } from "../Flows.ts"
import { type Limits } from "../limits/Limits.ts"
import { type EmbeddedLinks } from "../Links.ts"
import { type Messages } from "../Messages.ts"
import { type Passwords } from "../Passwords.ts"
import { type Records } from "../Records.ts"
import { type EmbeddedSessions } from "../Sessions.ts"
import { type Store } from "../Store.ts"
import { makeAccount } from "./Account.ts"
import { makeSupabaseAdmin } from "./Admin.ts"
import { makeEntering } from "./Entering.ts"
import { makeFactors } from "./Factors.ts"
import { makeOneTime } from "./OneTime.ts"
import { makePasskeyCalls } from "./Passkeys.ts"
import { makeProviders } from "./Providers.ts"
import { makeSecurityKeys } from "./SecurityKeys.ts"
import { makeTokens } from "./Tokens.ts"
import { makeUsers } from "./Users.ts"
import { makeVerifying } from "./Verifying.ts"

/** The sign-in API of Supabase's clients, on the accounts of the embedded identity provider. */
export const makeSupabaseAuth = (given: {
  readonly settings: AccountSettings["Service"]
  readonly audiences: ReadonlyArray<string>
  readonly signing: OwnSigningKeys["Service"]
  readonly mails: Mails["Service"]
  readonly seals: IdentitySeals["Service"]
  readonly store: Store
  readonly records: Records
  readonly sessions: EmbeddedSessions
  readonly flows: Flows
  readonly limits: Limits
  readonly messages: Messages
  readonly passwords: Passwords
  readonly totp: EmbeddedTotp
  readonly keys: EmbeddedKeys
  readonly checks: KeyChecks
  readonly links: EmbeddedLinks
  readonly meters: Meters
}): AuthCalls => {
  const { flows, limits, links, messages, meters, passwords, records, sessions, settings, store } = given
  const users = makeUsers(store)
  const tokens = makeTokens(settings, given.audiences, store, users, given.signing, given.seals, meters)
  const mails = makeOneTime(settings.ownUrl, settings.flowSeconds, given.mails, store, messages, limits)
  const entering = makeEntering(settings, store, records, passwords, limits, messages, users, tokens, mails, meters)
  const factors = makeFactors(
    new URL(settings.ownUrl).hostname,
    store,
    sessions,
    flows,
    given.totp,
    makeSecurityKeys(settings, store, given.keys, given.checks),
    limits,
    given.seals,
    users,
    tokens
  )
  const { reauthentication } = given.settings
  const { ofAdmin, passkeys } = makePasskeyCalls(
    settings.verifyFirst,
    reauthentication,
    store,
    flows,
    given.keys,
    given.checks,
    limits,
    tokens,
    users
  )
  return {
    ...tokens,
    ...entering,
    ...makeVerifying(store, records, passwords, limits, users, tokens, mails),
    ...makeAccount(reauthentication, store, records, sessions, passwords, limits, messages, users, mails, entering),
    ...makeProviders(store, flows, limits, links, users, tokens, sessions),
    ...factors,
    passkeys,
    user: ({ userId }) => users.byId(userId),
    providers: links.providers.map(({ id }) => id),
    admin: makeSupabaseAdmin(store, records, sessions, passwords, users, mails, entering, factors, ofAdmin)
  }
}
