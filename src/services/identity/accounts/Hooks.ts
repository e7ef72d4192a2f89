import { Clock, Context, DateTime, Effect, Layer } from "effect"
import { type ErrorCode } from "../../../domain/codes/ErrorCode.ts"
import { BadGateway, type ClientError, DatabaseError, Forbidden, InvalidRequest } from "../../../domain/errors.ts"
import { claimsOfHook, decisionOf, type HookName, hookUri, hookRefusalOf } from "../../../domain/supabase/Hooks.ts"
import { type JsonObject } from "../../../domain/text/JsonObject.ts"
import { CurrentDevice } from "../../ports/identity/Accounts.ts"
import { Db, serviceActor } from "../../ports/Db.ts"
import { AccountSettings } from "../AccountSettings.ts"
import { AccountStore } from "./Store.ts"

/** The time that a hook has, in ms, as at Supabase. Its caller waits. */
const timeout = 2000

/** Hooks by the names that their events have. */
const eventNames: Readonly<Record<HookName, string>> = {
  CUSTOM_ACCESS_TOKEN: "customize-access-token",
  PASSWORD_VERIFICATION_ATTEMPT: "password-verification",
  MFA_VERIFICATION_ATTEMPT: "mfa-verification"
}

const failed = (error: string, status = 500, code: ErrorCode = "unexpected_failure") =>
  new DatabaseError({ error, code, status })

/** Functions of the project's database that take part in sign-ins (docs/supabase.md). */
export class AuthHooks extends Context.Service<AuthHooks>()("svc/identity/AuthHooks", {
  make: Effect.gen(function* () {
    const { hooks } = yield* AccountSettings
    const { main } = yield* Db
    const store = yield* AccountStore

    /** Calls a hook, if there is one; undefined without one. */
    const call = Effect.fn("AuthHooks.call")(function* (name: HookName, event: JsonObject) {
      const hook = hooks[name]
      if (hook === undefined) return undefined
      const { ip } = yield* CurrentDevice
      const metadata = {
        uuid: crypto.randomUUID(),
        time: DateTime.formatIso(DateTime.makeUnsafe(yield* Clock.currentTimeMillis)),
        name: eventNames[name],
        ...(ip === null ? {} : { ip_address: ip })
      }
      const uri = hookUri(hook)
      const broken = failed(`Error running hook URI: ${uri}`)
      const [text] = yield* main
        .run(serviceActor, {
          text: "select auth.svc_run_hook($1, $2, $3)::text",
          params: [hook.schema, hook.name, JSON.stringify({ metadata, ...event })],
          access: "write",
          prepare: false
        })
        .pipe(
          Effect.catchTag("DatabaseError", ({ code, error }) =>
            // The message may repeat data of users.
            Effect.andThen(
              Effect.logError(`The hook ${uri} failed, SQLSTATE ${code}${code.startsWith("42") ? `: ${error}` : ""}`),
              Effect.fail(broken)
            )
          ),
          Effect.timeoutOrElse({
            duration: timeout,
            orElse: () =>
              Effect.andThen(
                Effect.logError(`The hook ${uri} was cancelled after ${timeout / 1000} s`),
                Effect.fail(broken)
              )
          })
        )
      const answer: unknown = typeof text === "string" ? JSON.parse(text) : null
      const refusal = hookRefusalOf(answer)
      if (refusal !== undefined) return yield* failed(refusal.message, refusal.status, "hook_refused")
      return { answer, uri }
    })

    /** The decision about an attempt; ends the user's sessions if it says so. */
    const decide = Effect.fnUntraced(function* (name: HookName, userId: string, event: JsonObject) {
      const called = yield* call(name, { user_id: userId, ...event })
      if (called === undefined) return undefined
      const decision = decisionOf(called.answer)
      if (decision === undefined) {
        yield* Effect.logError(`The hook ${called.uri} did not return a decision of continue or reject`)
        return yield* failed(`Error running hook URI: ${called.uri}`)
      }
      if (!decision.reject) return undefined
      if (decision.logout || name === "MFA_VERIFICATION_ATTEMPT") {
        yield* store.count("delete from svc.identity_sessions where identity_id = $1::text::uuid returning 1", [userId])
      }
      return decision.message ?? ""
    })

    return {
      /** The claims of an access token, as the hook has changed them. */
      claims: Effect.fnUntraced(function* (
        claims: JsonObject,
        method: string
      ): Effect.fn.Return<JsonObject, ClientError> {
        const event = { user_id: claims["sub"] ?? null, claims, authentication_method: method }
        const called = yield* call("CUSTOM_ACCESS_TOKEN", event)
        if (called === undefined) return claims
        const changed = claimsOfHook(claims, called.answer)
        if (typeof changed !== "string") return changed
        yield* Effect.logError(`The hook ${called.uri} was not followed: ${changed}`)
        return yield* failed(changed)
      }),
      /** Fails if the hook rejects an attempt with a password, which was right or wrong. The pages call it too. */
      password: Effect.fnUntraced(function* (userId: string, valid: boolean) {
        const refused = yield* decide("PASSWORD_VERIFICATION_ATTEMPT", userId, { valid }).pipe(
          Effect.catchTag("DatabaseError", ({ code, error, status }) =>
            Effect.fail(status >= 500 ? new BadGateway({ error, code }) : new Forbidden({ error, code }))
          )
        )
        if (refused === undefined) return
        return yield* new InvalidRequest({
          error: refused || "Further password verification attempts will be rejected.",
          code: "invalid_credentials"
        })
      }),
      /** Fails if the hook rejects an attempt with a second factor, and ends the user's sessions then. */
      factor: Effect.fnUntraced(function* (userId: string, factorId: string, kind: string, valid: boolean) {
        const attempt = { factor_id: factorId, factor_type: kind, valid }
        const refused = yield* decide("MFA_VERIFICATION_ATTEMPT", userId, attempt)
        if (refused === undefined) return
        return yield* new Forbidden({
          error: refused || "Further MFA verification attempts will be rejected.",
          code: "mfa_verification_rejected"
        })
      })
    }
  })
}) {
  static readonly layer = Layer.effect(AuthHooks, AuthHooks.make)
}
