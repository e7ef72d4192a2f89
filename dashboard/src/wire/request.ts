import { ApiError, apiErrorOf, type ErrorBody, NoResponse } from "./ApiError.ts"
import { branchState } from "./branch.ts"
import { parseExact } from "./exact.ts"
import { branchHeaders } from "./place.ts"
import { session } from "./session.ts"

export interface Answer<A> {
  readonly body: A
  readonly headers: Headers
  /** Until the body has arrived. */
  readonly millis: number
}

export interface RequestOptions {
  readonly method?: string | undefined
  /** Sent as JSON. */
  readonly payload?: unknown
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly signal?: AbortSignal | undefined
  /** Sent although the page is being left. */
  readonly keepalive?: boolean | undefined
  /** Default: `parseExact`. */
  readonly parse?: ((text: string) => unknown) | undefined
}

/** Of a session that has ended. A statement that runs as another role can be 401 for its own reasons. */
const sessionCodes = new Set<ErrorBody["code"]>(["UNAUTHENTICATED", "INVALID_API_KEY", "UNAUTHORIZED"])

/** The headers of every request to a path: the service's own page asks, about this database. */
export const pageHeaders = (path: string): Readonly<Record<string, string>> => ({
  "x-svc-dashboard": "1",
  ...branchHeaders(path)
})

/** The failure that a response reports. `sent` are the headers of its request. */
export const failureOf = (
  response: Pick<Response, "headers" | "status">,
  text: string,
  sent: Readonly<Record<string, string>>
): ApiError => {
  const error = apiErrorOf(response, text)
  // Not sent again: what was meant for the branch must not happen to the main database.
  if (error.body.code === "BRANCH_NOT_FOUND") branchState.gone(sent["x-svc-branch"])
  return error
}

/**
 * Sends by the session's cookie. When the session has ended, the sign-in opens over the page, and the request is sent again
 * after it: nothing that was typed is lost.
 */
export const bySession = async <A>(send: () => Promise<A>, signal?: AbortSignal): Promise<A> => {
  try {
    return await send()
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401 && sessionCodes.has(error.body.code))) throw error
    await session.renewed(signal)
    return await send()
  }
}

const silence =
  (method = "GET") =>
  (error: unknown): never => {
    throw error instanceof TypeError ? new NoResponse(method, error) : error
  }

/** A response whose body is still to be read. */
export const open = (path: string, options: Omit<RequestOptions, "parse"> = {}): Promise<Response> =>
  bySession(async () => {
    const { headers, keepalive = false, method = "GET", payload, signal } = options
    const sent = pageHeaders(path)
    const response = await fetch(path, {
      method,
      headers: { ...sent, ...(payload === undefined ? {} : { "content-type": "application/json" }), ...headers },
      body: payload === undefined ? null : JSON.stringify(payload),
      signal: signal ?? null,
      keepalive
    }).catch(silence(method))
    if (response.ok) return response
    throw failureOf(response, await response.text().catch(silence(method)), sent)
  }, options.signal)

/** One request, with its body. */
export const request = async <A>(path: string, options: RequestOptions = {}): Promise<Answer<A>> => {
  const { parse = parseExact } = options
  const begun = performance.now()
  const response = await open(path, options)
  const text = await response.text().catch(silence(options.method))
  const millis = performance.now() - begun
  return { body: (text === "" ? null : parse(text)) as A, headers: response.headers, millis }
}
