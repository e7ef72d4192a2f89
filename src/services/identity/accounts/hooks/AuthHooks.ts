import { Clock, Context, DateTime, Effect, Layer } from "effect"
import { BadGateway, DatabaseError, Forbidden, InvalidRequest } from "../../../../domain/errors.ts"
import { agreementOf, claimsOfHook, decisionOf, hookRefusalOf } from "../../../../domain/identity/hooks/Answers.ts"
import { hookEvents, type HookName, hookNames, hookUri } from "../../../../domain/identity/hooks/Target.ts"
import { type JsonObject } from "../../../../domain/text/JsonObject.ts"
import { CurrentDevice } from "../../../ports/identity/Accounts.ts"
import { LateFunctionInvoker } from "../../../ports/functions/LateFunctionInvoker.ts"
import { CurrentMeters } from "../../../metrics/Meters.ts"
import { AccountSettings } from "../../AccountSettings.ts"
import { AccountStore } from "../Store.ts"
import { hookFailed, makeHookCalls } from "./HookCalls.ts"

/** Maps the failure of a hook to errors that the service's own pages and `/api/auth` have. */
export const hookErrorsOfPages = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.mapError(effect, (error): Exclude<E, DatabaseError> | BadGateway | Forbidden => {
    if (!(error instanceof DatabaseError)) return error as Exclude<E, DatabaseError>
    const given = { error: error.error, code: error.code }
    return error.status < 500 && error.code === "hook_refused" ? new Forbidden(given) : new BadGateway(given)
  })

/**
 * Functions and receivers of the project that take part in sign-ups and sign-ins (docs/accounts.md). What a hook is asked
 * about does not happen if it fails.
 */
export class AuthHooks extends Context.Service<AuthHooks>()("svc/identity/AuthHooks", {
  make: Effect.gen(function* () {
    const { hooks } = yield* AccountSettings
    const store = yield* AccountStore
    const send = yield* makeHookCalls
    const meters = yield* CurrentMeters
    const counted = (name: HookName, outcome: "answered" | "failed") =>
      meters.counter("svc_hook_calls_total", { hook: hookEvents[name], outcome })
    const counters = new Map(
      hookNames
        .filter((name) => hooks[name] !== undefined)
        .map((name) => [name, { answered: counted(name, "answered"), failed: counted(name, "failed") }])
    )

    /** Counts a call, if there is a hook: as failed unless its answer was understood. */
    const metered = <A, E extends { readonly code: string }, R>(name: HookName, called: Effect.Effect<A, E, R>) => {
      const counter = counters.get(name)
      if (counter === undefined) return called
      return called.pipe(
        Effect.tap(() => Effect.sync(counter.answered)),
        Effect.tapError(({ code }) => Effect.sync(code === "hook_refused" ? counter.answered : counter.failed))
      )
    }

    /** Calls a hook, if there is one; undefined without one. */
    const call = Effect.fn("AuthHooks.call")(function* (name: HookName, event: JsonObject) {
      const target = hooks[name]
      if (target === undefined) return undefined
      const { ip } = yield* CurrentDevice
      const id = crypto.randomUUID()
      const metadata = {
        uuid: id,
        time: DateTime.formatIso(DateTime.makeUnsafe(yield* Clock.currentTimeMillis)),
        name: hookEvents[name],
        ...(ip === null ? {} : { ip_address: ip })
      }
      const answer = yield* send(target, JSON.stringify({ metadata, ...event }), id)
      const uri = hookUri(target)
      const refusal = hookRefusalOf(answer)
      if (refusal === "invalid") return yield* notUnderstood(uri, "has an error without a message")
      if (refusal !== undefined) return yield* hookFailed(refusal.message, refusal.status, "hook_refused")
      return { answer, uri }
    })

    const notUnderstood = (uri: string, fault: string) =>
      Effect.andThen(
        Effect.logError(`The answer of the hook ${uri} ${fault}`),
        Effect.fail(hookFailed("The answer of a hook is not understood"))
      )

    /** Asks a hook that only agrees or refuses. */
    const agreed = (name: HookName, event: JsonObject) => metered(name, agreement(name, event))
    const agreement = Effect.fnUntraced(function* (name: HookName, event: JsonObject) {
      const called = yield* call(name, event)
      if (called === undefined) return
      const decision = agreementOf(called.answer)
      if (decision === undefined) return yield* notUnderstood(called.uri, "must be {}, or an error with a message")
      if (decision.reject) return yield* hookFailed(decision.message ?? "Refused by a hook", 403, "hook_refused")
    })

    /** The decision about an attempt; ends the user's sessions if it says so. */
    const decide = (name: HookName, userId: string, event: JsonObject) => metered(name, decision(name, userId, event))
    const decision = Effect.fnUntraced(function* (name: HookName, userId: string, event: JsonObject) {
      const called = yield* call(name, { user_id: userId, ...event })
      if (called === undefined) return undefined
      const given = decisionOf(called.answer)
      if (given === undefined) return yield* notUnderstood(called.uri, "has no decision of continue or reject")
      if (!given.reject) return undefined
      if (given.logout || name === "MFA_VERIFICATION_ATTEMPT") {
        yield* store.count("delete from svc.identity_sessions where identity_id = $1::text::uuid returning 1", [userId])
      }
      return given.message ?? ""
    })

    const changed = Effect.fnUntraced(function* (claims: JsonObject, method: string) {
      const event = { user_id: claims["sub"] ?? null, claims, authentication_method: method }
      const called = yield* call("CUSTOM_ACCESS_TOKEN", event)
      if (called === undefined) return claims
      const after = claimsOfHook(claims, called.answer)
      if (typeof after !== "string") return after
      yield* Effect.logError(`The hook ${called.uri} was not followed: ${after}`)
      return yield* hookFailed(after)
    })

    return {
      /** Fails unless an account may be created. Not in a transaction, which would wait for the hook. */
      beforeCreated: (user: JsonObject) => agreed("BEFORE_USER_CREATED", { user }),
      /** After an account was created. A failure ends the request, but not the account. */
      created: (user: JsonObject) => agreed("AFTER_USER_CREATED", { user }),
      /** Whether mails are handed to a hook, not to a mail server. */
      sendsMails: hooks.SEND_EMAIL !== undefined,
      sendMail: (user: JsonObject, data: JsonObject) => agreed("SEND_EMAIL", { user, email_data: data }),
      /** The claims of an access token, as the hook has changed them. */
      claims: (claims: JsonObject, method: string) => metered("CUSTOM_ACCESS_TOKEN", changed(claims, method)),
      /** Fails if the hook rejects an attempt with a password, which was right or wrong. The pages call it too. */
      password: Effect.fnUntraced(function* (userId: string, valid: boolean) {
        const refused = yield* hookErrorsOfPages(decide("PASSWORD_VERIFICATION_ATTEMPT", userId, { valid }))
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
  static readonly layer = Layer.effect(AuthHooks, AuthHooks.make).pipe(
    Layer.provide([AccountStore.layer, LateFunctionInvoker.layer])
  )
}
