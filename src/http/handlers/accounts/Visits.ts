import { Effect } from "effect"
import { type HttpRouter, type HttpServerResponse } from "effect/http"
import { type ClientError } from "../../../domain/errors.ts"
import { passwordFaults } from "../../../domain/identity/Password.ts"
import { wordsOf, withValues } from "../../../domain/language/Language.ts"
import { Sessions } from "../../../services/identity/Sessions.ts"
import { type AccountCalls, Accounts, type SignedIn } from "../../../services/ports/identity/Accounts.ts"
import { setSignInCookies } from "../../access/cookies/SessionCookies.ts"
import { type Fault } from "../../pages/accounts/SignInPages.ts"
import { leave, makeVisits, toPage, type Visit } from "../../pages/accounts/Visit.ts"
import { redirectTo, withFailurePage } from "../../pages/Pages.ts"

export type VisitResponse = HttpServerResponse.HttpServerResponse

const english = wordsOf("en")

/** The error of a form in the page's language. Errors without a translation are shown unchanged. */
export const faultOf = ({ words }: Visit, error: ClientError): Fault => {
  const { code, error: text, status } = error
  const kind = (Object.keys(passwordFaults) as Array<keyof typeof passwordFaults>).find(
    (one) => passwordFaults[one] === text
  )
  const known: Readonly<Record<string, string>> = words.faults
  if (kind !== undefined) return { text: words.passwordFaults[kind], status }
  if (text === english.address) return { text: words.address, status }
  if (text === english.account.selectSure) return { text: words.account.selectSure, status }
  const seconds = "retry_after" in error ? String(error.retry_after) : ""
  return { text: Object.hasOwn(known, code) ? withValues(known[code] ?? text, { seconds }) : text, status }
}

/** Errors after which the form is shown again. Other errors need another page, or are not about the input. */
export const isAboutForm = (error: ClientError): boolean =>
  [400, 401, 409, 410, 429].includes(error.status) || ["SIGN_IN_BUSY", "hook_refused"].includes(error.code)

/** Shows a form again with its error. */
export const orAgain =
  <R2>(visit: Visit, again: (fault: Fault) => Effect.Effect<VisitResponse, ClientError, R2>) =>
  <E extends ClientError, R>(
    answer: Effect.Effect<VisitResponse, E, R>
  ): Effect.Effect<VisitResponse, ClientError, R | R2> =>
    Effect.catch(answer, (error) => (isAboutForm(error) ? again(faultOf(visit, error)) : Effect.fail(error)))

/** A browser without a session, or with one that is too old, signs in first and returns to `returnTo`. */
export const orSignIn =
  (visit: Visit, returnTo?: string) =>
  <E extends ClientError, R>(answer: Effect.Effect<VisitResponse, E, R>) =>
    Effect.catchIf(
      answer,
      (error: ClientError) => error.code === "UNAUTHENTICATED" || error._tag === "StepUpRequired",
      (error) =>
        Effect.succeed(
          "redirect_to" in error && error.redirect_to !== null
            ? redirectTo({ redirectTo: error.redirect_to })
            : toPage(visit, returnTo === undefined ? "login" : `login?${new URLSearchParams({ return_to: returnTo })}`)
        )
    )

/** The helpers of all account pages: how a route is added, and how a sign-in ends. */
export const makePages = Effect.fnUntraced(function* (router: HttpRouter.HttpRouter) {
  const accounts = yield* Accounts
  const sessions = yield* Sessions
  const visits = yield* makeVisits
  return {
    on: <E extends ClientError, R>(
      method: "GET" | "POST",
      name: string,
      use: (visit: Visit, calls: AccountCalls) => Effect.Effect<VisitResponse, E, R>
    ) =>
      router.add(
        method,
        `/auth/${name}`,
        withFailurePage(visits((visit) => Effect.flatMap(accounts.calls, (calls) => use(visit, calls))))
      ),
    /** Completes a first factor: sets the cookies, and continues with the second factor or `next`. */
    entered: Effect.fnUntraced(function* (visit: Visit, { cookies, stepUp }: SignedIn, next = leave(visit)) {
      yield* sessions.replace(visit.browser.credentials, "Cookie")
      yield* setSignInCookies(cookies, visit.browser.secure)
      return stepUp === null ? next : toPage(visit, `factor${visit.query}`)
    })
  }
})
