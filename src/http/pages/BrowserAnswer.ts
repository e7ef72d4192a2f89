import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { type ClientError } from "../../domain/errors.ts"
import { type Onward } from "../../services/ports/OAuth2.ts"
import { failurePage } from "./Pages.ts"

/** Whether somebody looks at the answer: pages are asked for before JSON. */
const wantsPage = (accept = "") => {
  const [page, json] = [accept.indexOf("text/html"), accept.indexOf("application/json")]
  return page >= 0 && (json < 0 || page < json)
}

/** Failures as a page, for who looks at them in a browser. */
export const forBrowsers = <A, E extends ClientError, R>(
  answer: Effect.Effect<A, E, R>
): Effect.Effect<A | HttpServerResponse.HttpServerResponse, E, R | HttpServerRequest.HttpServerRequest> =>
  Effect.catch(answer, (error) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
      wantsPage(headers["accept"]) ? Effect.succeed(failurePage(error)) : Effect.fail(error)
    )
  )

/** Sends a browser on. What it carries is for that address only. */
export const sentOn = ({ redirectTo }: Onward): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.empty({
    status: 302,
    headers: { location: redirectTo, "cache-control": "no-store", "referrer-policy": "no-referrer" }
  })
