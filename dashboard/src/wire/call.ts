import { pathOf } from "./path.ts"
import { type Answer, request } from "./request.ts"
import type { Op, Wire } from "./Wire.ts"

type Present<O extends Op> = {
  [K in "params" | "query" | "payload" as [Wire[O][K]] extends [never] ? never : K]: Wire[O][K]
}
type Optional<T> = { [K in keyof T as {} extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as {} extends T[K] ? K : never]?: T[K]
}
type Given<O extends Op> = Optional<Present<O>> & {
  readonly signal?: AbortSignal
  readonly keepalive?: boolean
  readonly headers?: Readonly<Record<string, string>>
  readonly parse?: (text: string) => unknown
}
type Arguments<O extends Op> = {} extends Optional<Present<O>> ? [Given<O>?] : [Given<O>]

interface Parts {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly payload?: unknown
  readonly signal?: AbortSignal
  readonly keepalive?: boolean
  readonly headers?: Readonly<Record<string, string>>
  readonly parse?: (text: string) => unknown
}

/** Calls an endpoint, typed by the server's contract: `call("GET /api/keys/")`. */
export const answerOf = <O extends Op>(op: O, ...[given]: Arguments<O>): Promise<Answer<Wire[O]["success"]>> => {
  const [method, template = ""] = op.split(" ")
  const { headers, keepalive, parse, payload, signal, ...parts } = (given ?? {}) as Parts
  return request<Wire[O]["success"]>(pathOf(template, parts), { method, payload, headers, signal, keepalive, parse })
}

/** The same, of which only the body matters. */
export const call = async <O extends Op>(op: O, ...given: Arguments<O>): Promise<Wire[O]["success"]> =>
  (await answerOf(op, ...given)).body
