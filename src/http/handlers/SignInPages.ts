import { Effect } from "effect"
import { HttpRouter, type HttpServerRequest, type HttpServerResponse } from "effect/http"
import { type ClientError, NotFound } from "../../domain/errors.ts"
import { accountOf } from "../../domain/identity/Identity.ts"
import { Sessions } from "../../services/identity/Sessions.ts"
import { SignIn } from "../../services/identity/SignIn.ts"
import { type AccountCalls, Accounts, type FactorProof, type SignedIn } from "../../services/ports/identity/Accounts.ts"
import { relayCookies, setSignInCookies } from "../access/SessionCookies.ts"
import { askPage, codePage, linkPage, type MailPage, noticePage } from "../pages/accounts/MailPages.ts"
import {
  factorPage,
  type Fault,
  loginPage,
  newPasswordPage,
  passkeyPage,
  registerPage
} from "../pages/accounts/SignInPages.ts"
import { field, leave, makeVisits, toPage, type Visit } from "../pages/accounts/Visit.ts"
import { redirectTo, withFailurePage } from "../pages/Pages.ts"

type Response = HttpServerResponse.HttpServerResponse

export const faultOf = ({ error, status }: ClientError): Fault => ({ text: error, status })

/** Errors that a form is shown again with. The others need another page, or are not about what was entered. */
export const isAboutForm = (error: ClientError): boolean =>
  [400, 401, 409, 410, 429].includes(error.status) || error.code === "SIGN_IN_BUSY"

/** `/auth/…`: signing in, registering and recovering an account, without JavaScript but for keys. */
export const SignInPagesRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const accounts = yield* Accounts
    const sessions = yield* Sessions
    const signIn = yield* SignIn
    const visits = yield* makeVisits

    const on = <E extends ClientError, R>(
      method: "GET" | "POST",
      name: string,
      use: (visit: Visit, calls: AccountCalls) => Effect.Effect<Response, E, R>
    ) =>
      router.add(
        method,
        `/auth/${name}`,
        withFailurePage(visits((visit) => Effect.flatMap(accounts.calls, (calls) => use(visit, calls))))
      )
    /** Shows a form again with what is wrong with it. */
    const orAgain =
      <R2>(again: (fault: Fault) => Effect.Effect<Response, ClientError, R2>) =>
      <E extends ClientError, R>(answer: Effect.Effect<Response, E, R>): Effect.Effect<Response, ClientError, R | R2> =>
        Effect.catch(answer, (error) => (isAboutForm(error) ? again(faultOf(error)) : Effect.fail(error)))

    /** After a first factor: sets the cookie, and asks for the second factor or goes on. */
    const entered = Effect.fnUntraced(function* (visit: Visit, { cookies, stepUp }: SignedIn, next = leave(visit)) {
      for (const before of visit.browser.credentials) yield* sessions.invalidate(before)
      yield* setSignInCookies(cookies, visit.browser.secure)
      return stepUp === null ? next : toPage(visit, `factor${visit.query}`)
    })

    /** The account whose sign-in is too old; undefined without a session. */
    const signedInAs = (visit: Visit) =>
      Effect.map(
        Effect.catchTag(sessions.optional(visit.browser), "StepUpRequired", () => Effect.undefined),
        (session) => session && accountOf(session.identity)
      )

    yield* on("GET", "login", (visit, { methods }) =>
      Effect.gen(function* () {
        if (visit.fields.get("aal") === "aal2") return toPage(visit, `factor${visit.query}`)
        const account = yield* signedInAs(visit)
        if (account === undefined) return loginPage(visit, methods, {})
        return visit.fields.get("refresh") === "true"
          ? loginPage(visit, methods, { account })
          : visit.returnTo === undefined
            ? toPage(visit, "account")
            : redirectTo({ redirectTo: visit.returnTo })
      })
    )
    yield* on("POST", "login", (visit, calls) => {
      const [email, password] = [field(visit, "email"), field(visit, "password", 4096)]
      if (visit.fields.get("refresh") !== "true") {
        return Effect.flatMap(calls.signIn({ identifier: email, password, kind: "Cookie" }), (signedIn) =>
          entered(visit, signedIn)
        ).pipe(orAgain((fault) => Effect.succeed(loginPage(visit, calls.methods, { email, fault }))))
      }
      return Effect.gen(function* () {
        const { credential, value } = yield* sessions.withHalfSession(visit.browser, (credential) =>
          calls.reauthenticate(credential, password)
        )
        yield* sessions.invalidate(credential)
        yield* relayCookies(credential, value.cookies, visit.browser.secure)
        return leave(visit)
      }).pipe(
        orAgain((fault) =>
          Effect.map(signedInAs(visit), (account) =>
            loginPage(visit, calls.methods, { fault, ...(account === undefined ? {} : { account }) })
          )
        )
      )
    })

    const showPasskey = (visit: Visit, fault?: Fault) =>
      Effect.map(signIn.beginPasskey, ({ flow_id, passkey_options }) =>
        passkeyPage(visit, { flowId: flow_id, publicKey: passkey_options.publicKey }, fault)
      )
    yield* on("GET", "passkey", (visit) => showPasskey(visit))
    yield* on("POST", "passkey", (visit) =>
      Effect.gen(function* () {
        const { browser } = visit
        const [flow, credential] = [field(visit, "flow"), field(visit, "credential", 128 * 1024)]
        const { cookies, outcome } = yield* signIn.passkey(browser, browser.address, flow, credential)
        yield* setSignInCookies(cookies, browser.secure)
        return "identity" in outcome ? leave(visit) : toPage(visit, `factor${visit.query}`)
      }).pipe(orAgain((fault) => showPasskey(visit, fault)))
    )

    yield* on("GET", "register", (visit, { methods }) =>
      methods.registration
        ? Effect.succeed(registerPage(visit, methods, {}))
        : Effect.fail(new NotFound({ error: "Registration is closed (SVC_AUTH_REGISTRATION)" }))
    )
    yield* on("POST", "register", (visit, calls) => {
      const [email, password] = [field(visit, "email"), field(visit, "password", 4096)]
      return Effect.flatMap(calls.register({ email, password, traits: {}, kind: "Cookie" }), (result) =>
        "flowId" in result ? Effect.succeed(codePage(visit, "verify", result.flowId)) : entered(visit, result)
      ).pipe(orAgain((fault) => Effect.succeed(registerPage(visit, calls.methods, { email, fault }))))
    })

    /** The factors of a session that needs one; a browser without such a session signs in first. */
    const showFactors = (visit: Visit, calls: AccountCalls, fault?: Fault) =>
      sessions.withHalfSession(visit.browser, calls.dueFactors).pipe(
        Effect.map(({ value }) => factorPage(visit, value, fault)),
        Effect.catchTag("Unauthorized", () => Effect.succeed(toPage(visit, `login${visit.query}`)))
      )
    yield* on("GET", "factor", (visit, calls) => showFactors(visit, calls))
    yield* on("POST", "factor", (visit, calls) =>
      Effect.gen(function* () {
        const action = field(visit, "action")
        const proof: FactorProof =
          action === "webauthn"
            ? { method: "webauthn", flowId: field(visit, "flow"), assertion: field(visit, "credential", 128 * 1024) }
            : { method: action === "totp" ? "totp" : "lookup_secret", code: field(visit, "code", 20) }
        const { credential, value } = yield* sessions.withHalfSession(visit.browser, (credential) =>
          calls.showFactor(credential, proof)
        )
        yield* sessions.invalidate(credential)
        yield* relayCookies(credential, value.cookies, visit.browser.secure)
        return leave(visit)
      }).pipe(orAgain((fault) => showFactors(visit, calls, fault)))
    )

    const mailed = (
      name: MailPage,
      send: (visit: Visit, calls: AccountCalls, email: string) => Effect.Effect<string, ClientError>,
      confirm: (
        visit: Visit,
        calls: AccountCalls,
        flowId: string,
        proof: { readonly code: string } | { readonly token: string }
      ) => Effect.Effect<Response, ClientError, HttpServerRequest.HttpServerRequest>
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
              orAgain((fault) =>
                Effect.succeed(
                  fault.status === 400
                    ? codePage(visit, name, flowId, fault)
                    : askPage(visit, name, { fault: { ...fault, text: "This link or code has expired or was used" } })
                )
              )
            )
          }
          const email = field(visit, "email")
          return Effect.map(send(visit, calls, email), (id) => codePage(visit, name, id)).pipe(
            orAgain((fault) => Effect.succeed(askPage(visit, name, { email, fault })))
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
        Effect.flatMap(calls.confirmVerification(flowId, proof, "Cookie"), (signedIn) =>
          signedIn === undefined
            ? Effect.succeed(
                noticePage(visit, "Your address is confirmed", "Thank you.", {
                  href: "account",
                  text: "To your account"
                })
              )
            : entered(visit, signedIn)
        )
    )

    const showPassword = (visit: Visit, fault?: Fault) =>
      Effect.map(sessions.withSession(visit.browser, Effect.succeed), ({ session }) =>
        newPasswordPage(visit, accountOf(session.identity), fault)
      )
    const toSignIn = <E extends ClientError, R>(visit: Visit, answer: Effect.Effect<Response, E, R>) =>
      Effect.catchIf(
        answer,
        (error: ClientError) => error.code === "UNAUTHENTICATED" || error._tag === "StepUpRequired",
        (error) =>
          Effect.succeed(
            "redirect_to" in error && error.redirect_to !== null
              ? redirectTo({ redirectTo: error.redirect_to })
              : toPage(visit, "login")
          )
      )
    yield* on("GET", "password", (visit) => toSignIn(visit, showPassword(visit)))
    yield* on("POST", "password", (visit, calls) =>
      toSignIn(
        visit,
        Effect.gen(function* () {
          const password = field(visit, "password", 4096)
          const { session, value } = yield* sessions.withSession(visit.browser, ({ credential }) =>
            calls.setPassword(credential, password)
          )
          yield* sessions.invalidate(session.credential)
          yield* relayCookies(session.credential, value.cookies, visit.browser.secure)
          return leave(visit)
        }).pipe(
          Effect.catch((error) =>
            error.code === "INVALID_PASSWORD" ? showPassword(visit, faultOf(error)) : Effect.fail(error)
          )
        )
      )
    )

    yield* on("GET", "signed-out", (visit) =>
      Effect.succeed(
        noticePage(visit, "You are signed out", "You can close this page.", { href: "login", text: "Sign in" })
      )
    )
  })
)
