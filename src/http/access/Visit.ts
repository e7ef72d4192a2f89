import { Context, Effect } from "effect"
import { type HttpServerRequest } from "effect/http"
import { type InvalidRequest } from "../../domain/errors.ts"
import { type Visitor } from "../../domain/identity/Visitor.ts"
import { type IdentitySettings } from "../../services/identity/Settings.ts"
import { clientAddress } from "./ClientAddress.ts"
import { isOurs, isSecure, ownAddress } from "./Origins.ts"
import { queryOf } from "../wire/Paths.ts"
import { credentialsOf } from "./SessionCookies.ts"

/** A browser, or an app, that may have a session: put there by middleware/Visits.ts. */
export interface Visit {
  readonly visitor: Visitor
  /** Our own address as it knows it, without a slash at its end. */
  readonly own: string
  /** Its IP address, for guess limits. */
  readonly from: string
  /** Whether its cookies are for https only. */
  readonly secure: boolean
}

export class CurrentVisit extends Context.Service<CurrentVisit, Visit>()("svc/http/CurrentVisit") {}

/** Where a step-up leads back to: `return_to` when it is a page of ours or the dashboard's, else the dashboard. */
const returnToOf = (request: HttpServerRequest.HttpServerRequest, settings: IdentitySettings["Service"]) => {
  const given = new URLSearchParams(queryOf(request.url)).get("return_to")
  const ours = given !== null && URL.canParse(given) && isOurs(new URL(given).origin, request, settings)
  return ours ? new URL(given).href : settings.dashboardUrl
}

export const visitOf = (
  request: HttpServerRequest.HttpServerRequest,
  settings: IdentitySettings["Service"]
): Effect.Effect<Visit, InvalidRequest> =>
  Effect.map(ownAddress(request, settings), (own) => ({
    visitor: visitorOf(request, settings),
    own,
    from: clientAddress(request),
    secure: isSecure(request, settings)
  }))

export const visitorOf = (
  request: HttpServerRequest.HttpServerRequest,
  settings: IdentitySettings["Service"]
): Visitor => ({ credentials: credentialsOf(request.headers["cookie"]), returnTo: returnToOf(request, settings) })
