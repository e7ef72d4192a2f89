import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { accountOf } from "../../../domain/identity/Identity.ts"
import { Sessions } from "../../../services/identity/Sessions.ts"
import { Accounts } from "../../../services/ports/identity/Accounts.ts"
import { noticePage } from "../../pages/accounts/MailPages.ts"
import { type Fault, administratorPage } from "../../pages/accounts/SignInPages.ts"
import { field, type Visit } from "../../pages/accounts/Visit.ts"
import { makePages, orAgain, orSignIn } from "./Visits.ts"

/** `/auth/administrator`: the link that the first start prints. */
export const AdministratorRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const accounts = yield* Accounts
    const sessions = yield* Sessions
    const { entered, on } = yield* makePages(router)

    const linkOf = (visit: Visit) => [field(visit, "flow", 100), field(visit, "token", 100)] as const
    /** The page at which a person who must sign in first continues. */
    const hereOf = (visit: Visit) => {
      const [flow, token] = linkOf(visit)
      return `${visit.browser.baseUrl}/auth/administrator?${new URLSearchParams({ flow, token })}`
    }
    const show = Effect.fnUntraced(function* (visit: Visit, fault?: Fault) {
      const [flow, token] = linkOf(visit)
      yield* (yield* accounts.admin).first.check(flow, token)
      const session = yield* sessions.optional(visit.browser)
      const account = session && accountOf(session.identity)
      return administratorPage(visit, { flow, token, here: hereOf(visit), account }, fault)
    })

    yield* on("GET", "administrator", (visit) => show(visit).pipe(orSignIn(visit, hereOf(visit))))
    yield* on("POST", "administrator", (given) => {
      const visit = { ...given, browser: { ...given.browser, returnTo: hereOf(given) } }
      return Effect.gen(function* () {
        const { first } = yield* accounts.admin
        const [flow, token] = linkOf(visit)
        const [email, password] = [field(visit, "email"), field(visit, "password", 4096)]
        const signedIn =
          field(visit, "action") === "make"
            ? (yield* sessions.withSession(visit.browser, ({ credential }) => first.claim(flow, token, { credential })))
                .value
            : yield* first.claim(flow, token, { email, password })
        const { administrator } = visit.words
        const next = { href: `${visit.browser.baseUrl}/dashboard/`, text: administrator.dashboard }
        return yield* entered(visit, signedIn, noticePage(visit, administrator.done, administrator.doneText, next))
      }).pipe(
        orAgain(visit, (fault) => show(visit, fault)),
        orSignIn(visit, hereOf(visit))
      )
    })
  })
)
