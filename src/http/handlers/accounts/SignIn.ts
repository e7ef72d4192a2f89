import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { NotFound } from "../../../domain/errors.ts"
import { accountOf } from "../../../domain/identity/Identity.ts"
import { Sessions } from "../../../services/identity/Sessions.ts"
import { SignIn } from "../../../services/identity/SignIn.ts"
import { type AccountCalls, type FactorProof } from "../../../services/ports/identity/Accounts.ts"
import { relayCookies, setSignInCookies } from "../../access/cookies/SessionCookies.ts"
import { codePage, noticePage } from "../../pages/accounts/MailPages.ts"
import { factorPage, type Fault, loginPage, passkeyPage, registerPage } from "../../pages/accounts/SignInPages.ts"
import { field, leave, toPage, type Visit } from "../../pages/accounts/Visit.ts"
import { redirectTo } from "../../pages/Pages.ts"
import { makePages, orAgain } from "./Visits.ts"

/** `/auth/…`: signing in and registering, without JavaScript but for keys. */
export const SignInRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const sessions = yield* Sessions
    const signIn = yield* SignIn
    const { entered, on } = yield* makePages(router)

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
        ).pipe(orAgain(visit, (fault) => Effect.succeed(loginPage(visit, calls.methods, { email, fault }))))
      }
      return Effect.gen(function* () {
        const { credential, value } = yield* sessions.changeHalf(visit.browser, (credential) =>
          calls.reauthenticate(credential, password)
        )
        yield* relayCookies(credential, value.cookies, visit.browser.secure)
        return leave(visit)
      }).pipe(
        orAgain(visit, (fault) =>
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
      }).pipe(orAgain(visit, (fault) => showPasskey(visit, fault)))
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
      ).pipe(orAgain(visit, (fault) => Effect.succeed(registerPage(visit, calls.methods, { email, fault }))))
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
        const { credential, value } = yield* sessions.changeHalf(visit.browser, (credential) =>
          calls.showFactor(credential, proof)
        )
        yield* relayCookies(credential, value.cookies, visit.browser.secure)
        return leave(visit)
      }).pipe(orAgain(visit, (fault) => showFactors(visit, calls, fault)))
    )

    yield* on("GET", "signed-out", (visit) =>
      Effect.succeed(
        noticePage(visit, visit.words.signedOut.title, visit.words.common.close, {
          href: "login",
          text: visit.words.common.signIn
        })
      )
    )
  })
)
