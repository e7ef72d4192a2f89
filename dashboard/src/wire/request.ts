import { ApiError, apiErrorOf } from "./ApiError.ts"
import { branch } from "./branch.ts"
import { parseExact } from "./exact.ts"
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
  /** Default: `parseExact`. */
  readonly parse?: ((text: string) => unknown) | undefined
}

/** Of a session that has ended. A statement that runs as another role can be 401 for its own reasons. */
const sessionCodes = new Set(["UNAUTHENTICATED", "INVALID_API_KEY", "UNAUTHORIZED"])

const send = async <A>(path: string, options: RequestOptions): Promise<Answer<A>> => {
  const { headers, method = "GET", parse = parseExact, payload, signal } = options
  const begun = performance.now()
  const chosen = branch.headers(path)
  const response = await fetch(path, {
    method,
    headers: {
      "x-svc-dashboard": "1",
      ...(payload === undefined ? {} : { "content-type": "application/json" }),
      ...chosen,
      ...headers
    },
    body: payload === undefined ? null : JSON.stringify(payload),
    signal: signal ?? null
  })
  const text = await response.text()
  const millis = performance.now() - begun
  if (!response.ok) {
    const error = apiErrorOf(response, text)
    // Not sent again: what was meant for the branch must not happen to the main database.
    if (error.body.code === "BRANCH_NOT_FOUND") branch.gone(chosen["x-svc-branch"])
    throw error
  }
  return { body: (text === "" ? null : parse(text)) as A, headers: response.headers, millis }
}

/**
 * One request by the session's cookie. When the session has ended, the sign-in opens over the page, and the request is
 * sent again after it: nothing that was typed is lost.
 */
export const request = async <A>(path: string, options: RequestOptions = {}): Promise<Answer<A>> => {
  try {
    return await send<A>(path, options)
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401 && sessionCodes.has(error.body.code))) throw error
    await session.renewed(options.signal)
    return await send<A>(path, options)
  }
}
