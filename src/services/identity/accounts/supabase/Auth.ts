import { Effect, Layer } from "effect"
import { NotImplemented } from "../../../../domain/errors.ts"
import { type AuthCalls, SupabaseAuth } from "../../../ports/supabase/AuthCalls.ts"
import { ProviderLinks } from "../providers/Links.ts"
import { AccountStore } from "../Store.ts"
import { SupabaseAccount } from "./Account.ts"
import { SupabaseUserAdmin } from "./Admin.ts"
import { SupabaseCodes } from "./Codes.ts"
import { SupabaseSignIn } from "./Entering.ts"
import { SupabaseFactors } from "./Factors.ts"
import { OneTimes } from "./OneTime.ts"
import { SupabasePasskeys } from "./Passkeys.ts"
import { SupabaseProviders } from "./Providers.ts"
import { SecurityKeys } from "./SecurityKeys.ts"
import { SupabaseTokens } from "./Tokens.ts"
import { Users } from "./Users.ts"
import { SupabaseMailProofs } from "./Verifying.ts"

const noTables = Effect.fail(
  new NotImplemented({
    error: "The tables of schema auth are not as at Supabase: this server does not sign in by /auth/v1",
    code: "auth_tables_unknown"
  })
)

/** The sign-in API of Supabase's clients, on the accounts of the embedded identity provider. */
export const layerSupabaseAuth = Layer.effect(
  SupabaseAuth,
  Effect.gen(function* () {
    const store = yield* AccountStore
    const users = yield* Users
    const tokens = yield* SupabaseTokens
    const { resend, sendOtp, sendRecovery, signIn, signInAnonymously, signUp } = yield* SupabaseSignIn
    const factors = yield* SupabaseFactors
    const { passkeys } = yield* SupabasePasskeys
    const { providers } = yield* ProviderLinks
    const calls: AuthCalls = {
      ...tokens,
      resend,
      sendOtp,
      sendRecovery,
      signIn,
      signInAnonymously,
      signUp,
      ...(yield* SupabaseMailProofs),
      ...(yield* SupabaseAccount),
      ...(yield* SupabaseProviders),
      ...factors,
      passkeys,
      user: ({ userId }) => users.byId(userId),
      providers: providers.map(({ id }) => id),
      admin: yield* SupabaseUserAdmin
    }
    const installed = yield* store
      .count("select 1 where to_regprocedure('svc.supabase_fill(int)') is not null")
      .pipe(Effect.catchTag("Unavailable", () => Effect.succeed(1)))
    return SupabaseAuth.of({ calls: installed > 0 ? Effect.succeed(calls) : noTables })
  })
).pipe(
  Layer.provide([SupabaseMailProofs.layer, SupabaseAccount.layer, SupabaseProviders.layer, SupabaseUserAdmin.layer]),
  Layer.provide([SupabaseSignIn.layer, SupabaseFactors.layer, SupabasePasskeys.layer]),
  Layer.provide(SupabaseCodes.layer),
  Layer.provide([SupabaseTokens.layer, OneTimes.layer, SecurityKeys.layer]),
  Layer.provide(Users.layer)
)
