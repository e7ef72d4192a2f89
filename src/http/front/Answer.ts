import { type HttpServerResponse } from "effect/http"
import { largeAnswer } from "../../services/access/AnswerBudget.ts"
import { IncomingRequest } from "../../services/access/IncomingRequest.ts"
import { payerOf, type ServedRequest } from "../access/ServedRequest.ts"
import { bearer, isOAuthError } from "../wire/ErrorBodies.ts"
import { withHeaders } from "../wire/OwnedResponse.ts"
import { type Arrival } from "./Arrival.ts"
import { isByPage } from "./Authentication.ts"
import { varyOf } from "./Cors.ts"

type Response = HttpServerResponse.HttpServerResponse
type CorsHeaders = Readonly<Record<string, string>> | undefined

const contentLengthOf = ({ body }: Response) => ("contentLength" in body ? body.contentLength : undefined)

/** The memory of a large response belongs to its client until it is sent. */
const charge = (request: ServedRequest, response: Response) => {
  const { source } = request.http
  if ((contentLengthOf(response) ?? 0) >= largeAnswer && source instanceof IncomingRequest) {
    source.client = payerOf(request)
  }
}

/** The headers of every response, and of those to an API key. */
export const answered = ({ request, surface }: Arrival, response: Response, cors: CorsHeaders): Response => {
  charge(request, response)
  const added: Record<string, string> = {
    "x-request-id": request.id,
    "x-content-type-options": "nosniff",
    vary: varyOf(request.path, response.headers["vary"]),
    ...cors
  }
  if (response.status === 401 && !isOAuthError(response)) {
    const challenge = response.headers["www-authenticate"] ?? bearer
    added["www-authenticate"] = surface.challenge === undefined ? challenge : surface.challenge(challenge)
  }
  if (surface.enter !== undefined) {
    added["x-ratelimit-limit"] = String(request.limit)
    added["x-ratelimit-remaining"] = String(request.remaining)
    if (request.reset > 0) added["x-ratelimit-reset"] = String(request.reset)
    // Functions choose the media type of their answers, and a page of theirs would be one of this origin.
    if (response.headers["content-type"]?.startsWith("application/json") !== true) {
      added["content-security-policy"] = "sandbox; default-src 'none'"
    }
  }
  // Caches ignore the header of pages, and the next request may come without it.
  if (surface.forPages === true && isByPage(request)) added["cache-control"] = "no-store"
  return withHeaders(response, added)
}
