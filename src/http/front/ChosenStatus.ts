import { type HttpServerResponse } from "effect/http"

const chosen = new WeakSet<HttpServerResponse.HttpServerResponse>()

/** A response whose status is the choice of a user's function: its body is as it shall be, whatever the status. */
export const withChosenStatus = <R extends HttpServerResponse.HttpServerResponse>(response: R): R => {
  chosen.add(response)
  return response
}

export const hasChosenStatus = (response: HttpServerResponse.HttpServerResponse) => chosen.has(response)
