import { Effect } from "effect"
import { BadGateway, type InvalidRequest } from "../../../domain/errors.ts"
import { noProviderCode } from "../../../services/identity/accounts/Refusals.ts"

/** How long a provider may take to answer one request, in s. */
export const timeoutSeconds = 8
/** The size of a response, in bytes. */
const maxBytes = 512 * 1024

/** fetch for providers: a response that is too long is an error, not memory. */
export const boundedFetch = async (address: string, options: object): Promise<Response> => {
  const response = await fetch(address, options as RequestInit)
  const parts: Array<Uint8Array> = []
  let size = 0
  for await (const part of response.body ?? []) {
    size += part.length
    if (size > maxBytes) throw new Error(`The response exceeds ${maxBytes} bytes`)
    parts.push(part)
  }
  const { headers, status, statusText } = response
  const bare = status === 204 || status === 205 || status === 304
  return new Response(bare ? null : Buffer.concat(parts), { status, statusText, headers })
}

/** The reason of a failure in one line, without what the other side wrote: that may contain codes and tokens. */
const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return "unknown"
  const { cause: inner, code, name, error } = cause as Error & { readonly code?: unknown; readonly error?: unknown }
  const own = [name, code, error].filter((part) => typeof part === "string" && /^[\w.-]{1,60}$/.test(part)).join(" ")
  const below = inner instanceof Error ? `, ${reasonOf(inner)}` : ""
  return own + below
}

const attempted = <A>(label: string, ask: () => Promise<A>) =>
  Effect.tapError(Effect.tryPromise(ask), ({ cause }) =>
    Effect.logWarning(`Failed to sign a user in with ${label}: ${reasonOf(cause)}`)
  )

const notAsExpected = (label: string) =>
  new BadGateway({ error: `${label} does not respond as expected; retry later`, code: "PROVIDER_FAILED" })

/** Sends a request to a provider. A failure is logged, and is 502 for the caller. */
export const asking = <A>(label: string, ask: () => Promise<A>): Effect.Effect<A, BadGateway> =>
  Effect.mapError(attempted(label, ask), () => notAsExpected(label))

/** Errors of a code that is unknown, expired or used; the second one is GitHub's, in a response of status 200. */
const codeErrors = new Set<unknown>(["invalid_grant", "bad_verification_code"])

const isOfCode = (cause: unknown): boolean => {
  if (!(cause instanceof Error)) {
    const { body } = (cause ?? {}) as { readonly body?: { readonly error?: unknown } }
    return codeErrors.has(body?.error)
  }
  return ("error" in cause && codeErrors.has(cause.error)) || (cause.cause !== undefined && isOfCode(cause.cause))
}

/** Redeems the code with which a browser came back. One that the provider does not know is the fault of the caller. */
export const redeeming = <A>(label: string, ask: () => Promise<A>): Effect.Effect<A, BadGateway | InvalidRequest> =>
  Effect.mapError(attempted(label, ask), ({ cause }) => (isOfCode(cause) ? noProviderCode : notAsExpected(label)))
