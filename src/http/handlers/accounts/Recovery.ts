import { Effect } from "effect"
import { HttpRouter, type HttpServerRequest } from "effect/http"
import { type ClientError } from "../../../domain/errors.ts"
import { accountOf } from "../../../domain/identity/Identity.ts"
import { Sessions } from "../../../services/identity/Sessions.ts"
import { SignIn } from "../../../services/identity/SignIn.ts"
import { type AccountCalls } from "../../../services/ports/identity/Accounts.ts"
import { relayCookies } from "../../access/cookies/SessionCookies.ts"
import { askPage, codePage, linkPage, type MailPage, noticePage } from "../../pages/accounts/MailPages.ts"
import { type Fault, newPasswordPage } from "../../pages/accounts/SignInPages.ts"
import { field, leave, toPage, type Visit } from "../../pages/accounts/Visit.ts"
import { faultOf, makePages, orAgain, orSignIn, type VisitResponse } from "./Visits.ts"

/** The errors about the password of a registration's link. */
const passwordFaults: ReadonlySet<string> = new Set(["PASSWORD_REQUIRED", "INVALID_CREDENTIALS"])

/** The sessions and password that confirm an address. */
const byOf = (visit: Visit) => {
  const password = field(visit, "password", 4096)
  return { credentials: visit.browser.credentials, ...(password === "" ? {} : { password }) }
}

/** `/auth/recovery`, `/auth/verify` and `/auth/password`: what a code or link in a mail leads to. */
export const RecoveryRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const sessions = yield* Sessions
    const signIn = yield* SignIn
    const { entered, on } = yield* makePages(router)

    const mailed = (
      name: MailPage,
      send: (visit: Visit, calls: AccountCalls, email: string) => Effect.Effect<string, ClientError>,
      confirm: (
        visit: Visit,
        calls: AccountCalls,
        flowId: string,
        proof: { readonly code: string } | { readonly token: string }
      ) => Effect.Effect<VisitResponse, ClientError, HttpServerRequest.HttpServerRequest>
    ) =>
      Effect.andThen(
        on("GET", name, (visit) => {
          const [flow, token] = [field(visit, "flow", 100), field(visit, "token", 100)]
          return Effect.succeed(flow !== "" && token !== "" ? linkPage(visit, name, flow, token) : askPage(visit, name))
        }),
        on("POST", name, (visit, calls) => {
          const [action, flowId] = [field(visit, "action"), field(visit, "flow", 100)]
          if (action === "token" || action === "code") {
            const proof =
              action === "token" ? { token: field(visit, "token", 100) } : { code: field(visit, "code", 20) }
            return confirm(visit, calls, flowId, proof).pipe(
              Effect.catchIf(
                ({ code, status }) => action === "token" && status === 400 && passwordFaults.has(code),
                (error) => Effect.succeed(linkPage(visit, name, flowId, proof.token ?? "", faultOf(visit, error)))
              ),
              orAgain(visit, (fault) =>
                Effect.succeed(
                  fault.status === 400
                    ? codePage(visit, name, flowId, fault)
                    : askPage(visit, name, { fault: { ...fault, text: visit.words.mailed.over } })
                )
              )
            )
          }
          const email = field(visit, "email")
          return Effect.map(send(visit, calls, email), (id) => codePage(visit, name, id)).pipe(
            orAgain(visit, (fault) => Effect.succeed(askPage(visit, name, { email, fault })))
          )
        })
      )

    yield* mailed(
      "recovery",
      ({ browser }, _calls, email) =>
        Effect.gen(function* () {
          const { id } = yield* signIn.beginRecovery
          yield* signIn.recover(browser.address, id, email)
          return id
        }),
      (visit, calls, flowId, proof) =>
        Effect.flatMap(calls.confirmRecovery(flowId, proof, "Cookie"), (signedIn) =>
          entered(visit, signedIn, toPage(visit, "password"))
        )
    )
    yield* mailed(
      "verify",
      (_visit, calls, email) => Effect.map(calls.verify(email), ({ flowId }) => flowId),
      (visit, calls, flowId, proof) =>
        Effect.flatMap(calls.confirmVerification(flowId, proof, "Cookie", byOf(visit)), (signedIn) =>
          signedIn === undefined
            ? Effect.succeed(
                noticePage(visit, visit.words.confirmed.title, visit.words.confirmed.text, {
                  href: "account",
                  text: visit.words.common.toAccount
                })
              )
            : entered(visit, signedIn)
        )
    )

    const showPassword = (visit: Visit, fault?: Fault) =>
      Effect.map(sessions.withSession(visit.browser, Effect.succeed), ({ session }) =>
        newPasswordPage(visit, accountOf(session.identity), fault)
      )
    yield* on("GET", "password", (visit) => orSignIn(visit)(showPassword(visit)))
    yield* on("POST", "password", (visit, calls) =>
      Effect.gen(function* () {
        const password = field(visit, "password", 4096)
        const { session, value } = yield* sessions.change(visit.browser, (credential) =>
          calls.setPassword(credential, password)
        )
        yield* relayCookies(session.credential, value.cookies, visit.browser.secure)
        return leave(visit)
      }).pipe(
        Effect.catch((error) =>
          error.code === "INVALID_PASSWORD" ? showPassword(visit, faultOf(visit, error)) : Effect.fail(error)
        ),
        orSignIn(visit)
      )
    )
  })
)
