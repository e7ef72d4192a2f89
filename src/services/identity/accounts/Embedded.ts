import { Context, Effect, Layer, Schema } from "effect"
import { InvalidRequest, NotImplemented } from "../../../domain/errors.ts"
import { readAddress } from "../../../domain/identity/Address.ts"
import { isStorableText } from "../../../domain/text/StorableText.ts"
import { jwtAudiences } from "../../access/Tokens.ts"
import { AccountSettings } from "../AccountSettings.ts"
import { Mails } from "../Mails.ts"
import { OwnSigningKeys } from "../../access/OwnSigningKeys.ts"
import { IdentitySeals } from "../../access/Seals.ts"
import { IdentitySignatures } from "../../access/Signatures.ts"
import { CurrentMeters } from "../../metrics/Meters.ts"
import { type AccountCalls, Accounts } from "../../ports/identity/Accounts.ts"
import { type ProviderProtocol } from "../../ports/identity/Providers.ts"
import { Db } from "../../ports/Db.ts"
import { IdP } from "../../ports/IdP.ts"
import { SupabaseAuth } from "../../ports/supabase/AuthCalls.ts"
import { makeAdmin } from "./Admin.ts"
import { makeDevices } from "./limits/Devices.ts"
import { makeFirstAdministrator } from "./FirstAdministrator.ts"
import { makeFlows } from "./Flows.ts"
import { makeLinks } from "./Links.ts"
import { makeKeyChecks } from "./factors/KeyChecks.ts"
import { makeKeys } from "./factors/Keys.ts"
import { makePasskeys } from "./factors/Passkeys.ts"
import { makeLimits } from "./limits/Limits.ts"
import { makeMessages } from "./Messages.ts"
import { makePasswords } from "./Passwords.ts"
import { makeProfile } from "./Profile.ts"
import { makeRecords } from "./Records.ts"
import { makeRecovery } from "./Recovery.ts"
import { makeRecoveryCodes } from "./factors/RecoveryCodes.ts"
import { invalidPageToken } from "./Refusals.ts"
import { makeSessions } from "./Sessions.ts"
import { makeSignIn } from "./SignIn.ts"
import { iso, isUuid, makeStore, pageOf } from "./Store.ts"
import { makeSupabaseAuth } from "./supabase/Auth.ts"
import { makeTotp } from "./factors/Totp.ts"

const noTables = Effect.fail(
  new NotImplemented({
    error: "The tables of schema auth are not as at Supabase: this server does not sign in by /auth/v1",
    code: "auth_tables_unknown"
  })
)

const KeyRow = Schema.Struct({ id: Schema.String, display_name: Schema.String, added_at: Schema.String })
const FactorsRow = Schema.Struct({ totp: Schema.Boolean, count: Schema.Int, used: Schema.Int })

/**
 * The identity provider that is part of this service. Its state is in the tables of migration 0017. `providers`: other
 * services at which people can sign in.
 */
export const layerIdentityEmbedded = (providers: ReadonlyArray<ProviderProtocol>) =>
  Layer.effectContext(
    Effect.gen(function* () {
      yield* Db // makes sure that the schema is installed
      const settings = yield* AccountSettings
      const signatures = yield* IdentitySignatures
      const seals = yield* IdentitySeals
      const store = yield* makeStore
      const meters = yield* CurrentMeters
      const sessions = makeSessions(settings, store, meters)
      const flows = makeFlows(settings.flowSeconds, store)
      const devices = makeDevices(settings.ownUrl, signatures)
      const limits = makeLimits(store, devices)
      const mails = yield* Mails
      const messages = makeMessages(settings.ownUrl, mails, signatures, limits, store)
      const passwords = yield* makePasswords
      const records = makeRecords(store)
      const checks = makeKeyChecks(settings)
      const keys = makeKeys(store, sessions, flows, checks, messages)
      const passkeys = makePasskeys(
        store,
        sessions,
        flows,
        checks,
        limits,
        keys,
        providers.map(({ id }) => id)
      )
      const totp = makeTotp(new URL(settings.ownUrl).hostname, store, sessions, flows, seals, messages)
      const codes = makeRecoveryCodes(store, sessions, flows, signatures, messages)
      const recovery = makeRecovery(settings.flowSeconds, store, sessions, flows, messages, limits)
      const signIn = makeSignIn(store, sessions, passwords, limits, devices, { totp, keys, codes }, meters)
      const profile = makeProfile(settings, store, records, sessions, flows, messages, passwords, limits)
      const links = makeLinks(
        settings,
        providers,
        store,
        records,
        sessions,
        flows,
        messages,
        signatures,
        limits,
        profile.verify
      )

      const keyRows = store.rows(KeyRow)
      const factorRows = store.rows(FactorsRow)

      const idp = IdP.of({
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

      const calls: AccountCalls = {
        methods: {
          password: true,
          passkey: true,
          registration: settings.registration,
          mail: settings.smtpUrl !== undefined,
          verification: settings.verifyFirst,
          providers: links.calls.list
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
        providers: links.calls
      }
      const first = makeFirstAdministrator(store, records, sessions, flows, passwords)
      const admin = makeAdmin(store, records, sessions, passwords, recovery, first)
      const accounts = Accounts.of({ calls: Effect.succeed(calls), admin: Effect.succeed(admin) })
      const installed = yield* store
        .count("select 1 where to_regprocedure('svc.supabase_fill(int)') is not null")
        .pipe(Effect.catchTag("Unavailable", () => Effect.succeed(1)))
      const supabase = makeSupabaseAuth({
        settings,
        audiences: yield* Effect.orDie(jwtAudiences),
        signing: yield* OwnSigningKeys,
        mails,
        seals,
        store,
        records,
        sessions,
        flows,
        limits,
        messages,
        passwords,
        totp,
        keys,
        checks,
        links,
        meters
      })
      return Context.make(IdP, idp).pipe(
        Context.add(Accounts, accounts),
        Context.add(SupabaseAuth, SupabaseAuth.of({ calls: installed > 0 ? Effect.succeed(supabase) : noTables }))
      )
    })
  )
