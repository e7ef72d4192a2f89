import { Effect, Layer, Schema } from "effect"
import { InvalidRequest } from "../../../domain/errors.ts"
import { readAddress } from "../../../domain/identity/Address.ts"
import { isStorableText } from "../../../domain/text/StorableText.ts"
import { AccountSettings } from "../AccountSettings.ts"
import { type AccountCalls, Accounts } from "../../ports/identity/Accounts.ts"
import { type ProviderProtocol, SignInProviders } from "../../ports/identity/Providers.ts"
import { Db } from "../../ports/Db.ts"
import { IdP } from "../../ports/IdP.ts"
import { AccountChanges } from "./Changes.ts"
import { AccountAdministration } from "./Admin.ts"
import { KeyChecks } from "./factors/KeyChecks.ts"
import { AccountKeys } from "./factors/Keys.ts"
import { AccountPasskeys } from "./factors/Passkeys.ts"
import { RecoveryCodes } from "./factors/RecoveryCodes.ts"
import { AuthenticatorApps } from "./factors/Totp.ts"
import { FirstAdministration } from "./FirstAdministrator.ts"
import { Flows } from "./Flows.ts"
import { Devices } from "./limits/Devices.ts"
import { Limits } from "./limits/Limits.ts"
import { ProviderAttempts } from "./providers/Attempts.ts"
import { ProviderLinks } from "./providers/Links.ts"
import { MailedSecrets } from "./mails/MailedSecrets.ts"
import { AccountMessages } from "./Messages.ts"
import { Passwords } from "./passwords/Passwords.ts"
import { PasswordSignIn } from "./passwords/PasswordSignIn.ts"
import { OwnAccount } from "./Profile.ts"
import { AccountRecords } from "./Records.ts"
import { AccountRecovery } from "./Recovery.ts"
import { invalidPageToken } from "./Refusals.ts"
import { AccountSessions } from "./Sessions.ts"
import { AccountSignIn } from "./SignIn.ts"
import { AccountStore, iso, isUuid, pageOf } from "./Store.ts"
import { layerSupabaseAuth } from "./supabase/Auth.ts"

const KeyRow = Schema.Struct({ id: Schema.String, display_name: Schema.String, added_at: Schema.String })
const FactorsRow = Schema.Struct({ totp: Schema.Boolean, count: Schema.Int, used: Schema.Int })

const layerIdp = Layer.effect(
  IdP,
  Effect.gen(function* () {
    const settings = yield* AccountSettings
    const store = yield* AccountStore
    const sessions = yield* AccountSessions
    const totp = yield* AuthenticatorApps
    const keys = yield* AccountKeys
    const codes = yield* RecoveryCodes
    const passkeys = yield* AccountPasskeys
    const recovery = yield* AccountRecovery
    const keyRows = store.rows(KeyRow)
    const factorRows = store.rows(FactorsRow)

    return IdP.of({
      configured: true,
      ready: Effect.succeed(true),
      session: Effect.fn("IdP.session")(function* (credential) {
        const session = yield* sessions.sessionOf(yield* sessions.whole(credential))
        return { session, cookies: [] }
      }),
      sessions: sessions.list,
      revokeSession: sessions.revoke,
      logout: sessions.logout,
      loginUrl: ({ aal, language, refresh, returnTo }) =>
        Effect.succeed(
          sessions.loginPage(
            {
              ...(aal === undefined ? {} : { aal }),
              ...(refresh === true ? { refresh: "true" } : {}),
              ...(language === undefined ? {} : { ui_locales: language }),
              ...(returnTo === undefined ? {} : { return_to: returnTo })
            },
            settings.pagesFor(returnTo)
          )
        ),

      identity: store.identity,
      identities: Effect.fn("IdP.identities")(function* ({ identifier, pageSize, pageToken }) {
        if (identifier !== undefined && !isStorableText(identifier)) {
          return yield* new InvalidRequest({ error: "identifier contains a character that PostgreSQL can't store" })
        }
        if (pageToken !== undefined && !isUuid(pageToken)) return yield* invalidPageToken
        if (identifier !== undefined) {
          const lookup = readAddress(identifier)?.lookup
          return { identities: lookup === undefined ? [] : yield* store.byLookup(lookup), next: null }
        }
        return pageOf(yield* store.page(pageSize + 1, pageToken), pageSize)
      }),
      factors: Effect.fn("IdP.factors")(function* (id) {
        const identity = yield* store.identity(id)
        const webauthn = yield* keyRows(
          `select id, display_name, ${iso("added_at")} as added_at from svc.identity_keys k
           where identity_id = $1::text::uuid and not passkey order by k.added_at, id`,
          [identity.id]
        )
        const [row] = yield* factorRows(
          `select totp_secret is not null as totp,
             (select count(*)::int4 from svc.identity_recovery_codes where identity_id = i.id) as count,
             (select count(used_at)::int4 from svc.identity_recovery_codes where identity_id = i.id) as used
           from svc.identities i where id = $1::text::uuid`,
          [identity.id]
        )
        return {
          totp: row?.totp ?? false,
          webauthn: webauthn.map(({ added_at, display_name, id }) => ({
            id,
            displayName: display_name,
            addedAt: added_at
          })),
          recoveryCodes: { count: row?.count ?? 0, used: row?.used ?? 0 }
        }
      }),

      beginTotp: totp.begin,
      confirmTotp: totp.confirm,
      removeTotp: totp.remove,
      beginWebAuthn: keys.beginKey,
      confirmWebAuthn: keys.confirmKey,
      removeWebAuthn: keys.removeKeys,
      beginRecoveryCodes: codes.begin,
      confirmRecoveryCodes: codes.confirm,
      removeRecoveryCodes: codes.remove,
      beginPasskeyLogin: passkeys.beginPasskeyLogin,
      passkeyLogin: (flowId, assertion) => passkeys.passkeyLogin(flowId, assertion, "Cookie"),
      beginRecovery: recovery.begin,
      recover: recovery.send
    })
  })
)

const layerAccounts = Layer.effect(
  Accounts,
  Effect.gen(function* () {
    const settings = yield* AccountSettings
    const signIn = yield* AccountSignIn
    const passkeys = yield* AccountPasskeys
    const recovery = yield* AccountRecovery
    const profile = yield* OwnAccount
    const { calls: providers } = yield* ProviderAttempts
    const admin = yield* AccountAdministration
    const calls: AccountCalls = {
      methods: {
        password: true,
        passkey: true,
        registration: settings.registration,
        mail: settings.smtpUrl !== undefined || settings.hooks.SEND_EMAIL !== undefined,
        verification: settings.verifyFirst,
        providers: providers.list
      },
      register: profile.register,
      signIn: signIn.signIn,
      signInByPasskey: passkeys.passkeyLogin,
      dueFactors: signIn.dueFactors,
      showFactor: signIn.showFactor,
      reauthenticate: signIn.reauthenticate,
      confirmRecovery: recovery.confirm,
      verify: profile.verify,
      confirmVerification: profile.confirmVerification,
      setPassword: profile.setPassword,
      setTraits: profile.setTraits,
      changeEmail: profile.changeEmail,
      remove: profile.remove,
      passkeys: passkeys.passkeys,
      beginPasskey: passkeys.beginPasskey,
      confirmPasskey: passkeys.confirmPasskey,
      renamePasskey: passkeys.renamePasskey,
      removePasskey: passkeys.removePasskey,
      providers
    }
    return Accounts.of({ calls: Effect.succeed(calls), admin: Effect.succeed(admin) })
  })
)

/**
 * The identity provider that is part of this service. Its state is in the tables of migration 0017. `providers`: other
 * services at which people can sign in. Each line needs the services of the lines below it.
 */
export const layerIdentityEmbedded = (providers: ReadonlyArray<ProviderProtocol>) =>
  Layer.mergeAll(layerIdp, layerAccounts, layerSupabaseAuth).pipe(
    Layer.provide([AccountSignIn.layer, AccountAdministration.layer, ProviderAttempts.layer]),
    Layer.provide(ProviderLinks.layer),
    Layer.provide([OwnAccount.layer, FirstAdministration.layer, AccountRecovery.layer, AccountPasskeys.layer]),
    Layer.provide([AuthenticatorApps.layer, AccountKeys.layer, RecoveryCodes.layer, PasswordSignIn.layer]),
    Layer.provide([AccountMessages.layer, AccountSessions.layer, AccountChanges.layer, Flows.layer, KeyChecks.layer]),
    Layer.provide(MailedSecrets.layer),
    Layer.provide([Limits.layer, AccountRecords.layer, Passwords.layer]),
    Layer.provide([AccountStore.layer, Devices.layer, Layer.succeed(SignInProviders, providers)]),
    // Makes sure that the schema is installed.
    Layer.provide(Layer.effectDiscard(Db))
  )
