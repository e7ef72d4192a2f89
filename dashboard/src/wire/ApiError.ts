import { type ErrorCode } from "../../../src/domain/codes/ErrorCode.ts"

/** The body of every failed response (src/http/front/ErrorBodies.ts). */
export interface ErrorBody {
  readonly error: string
  /** `UNREADABLE`: the response is not the service's. */
  readonly code: ErrorCode | "UNREADABLE"
  readonly details: unknown
  readonly hint: string | null
  readonly request_id: string
  readonly position?: number
  readonly statement_index?: number
  readonly retry_after?: number
  readonly redirect_to?: string | null
}

/** A response of the service that reports a failure. */
export class ApiError extends Error {
  readonly status: number
  readonly body: ErrorBody

  constructor(status: number, body: ErrorBody) {
    super(body.error)
    this.status = status
    this.body = body
  }
}

/** Browsers say "Failed to fetch" when there is no response, or only a part of one. */
export class NoResponse extends Error {
  /** Whether what was asked for may have been done. */
  readonly done: boolean

  constructor(method: string, cause: unknown) {
    const done = method !== "GET"
    super(
      done
        ? "The service did not respond. It may have done this all the same: look before you try again."
        : "The service does not respond. Is it running?",
      { cause }
    )
    this.done = done
  }
}

/** The code of a failure; undefined for one that is not the service's. */
export const codeOf = (error: unknown) => (error instanceof ApiError ? error.body.code : undefined)

export const apiErrorOf = (response: Pick<Response, "headers" | "status">, text: string): ApiError => {
  const { status } = response
  try {
    const body = JSON.parse(text) as ErrorBody
    if (typeof body.error === "string") return new ApiError(status, body)
  } catch {
    // Answered by something in between, such as a proxy.
  }
  const request_id = response.headers.get("x-request-id") ?? ""
  return new ApiError(status, {
    error: `The service responded with HTTP ${status}`,
    code: "UNREADABLE",
    details: null,
    hint: null,
    request_id
  })
}
