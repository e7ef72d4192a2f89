import { masked } from "./Ring.ts"

/** A request as the access log has it. Neither its query nor its other headers. */
export interface Access {
  /** The arrival, in ms since 1970. */
  readonly at: number
  readonly id: string
  readonly method: string
  /** The path without its query. */
  readonly path: string
  /** The path's template; "" if it has no route. */
  readonly route: string
  readonly status: number
  /** The code of an error; "" without one. */
  readonly code: string
  readonly millis: number
  /** -1: unknown. */
  readonly bytesIn: number
  readonly bytesOut: number
  /** 0: without a key. */
  readonly keyId: number
  readonly role: string
  readonly identity: string
  readonly client: string
  readonly dashboard: boolean
}

export type AccessLevel = "INFO" | "WARN" | "ERROR"

export const levelOf = (status: number): AccessLevel => (status >= 500 ? "ERROR" : status >= 400 ? "WARN" : "INFO")

/**
 * Characters that a terminal or a viewer of logs could interpret: control characters, line and paragraph breaks,
 * changes of direction.
 */
const unsafe = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
const escaped = (text: string) =>
  text.replaceAll(unsafe, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** Text that needs no escape in JSON, as nearly all texts of requests. */
const simple = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/
/** A JSON text on one line. */
const quoted = (text: string) => (simple.test(text) ? `"${text}"` : escaped(JSON.stringify(text)))
const orNull = (text: string) => (text === "" ? "null" : quoted(text))
const countOrNull = (count: number) => (count < 0 ? "null" : String(count))

/** One line of JSON; `worker`: the number of the process, 0 without workers. */
export const jsonLine = (access: Access, worker: number): string => {
  const { at, bytesIn, bytesOut, client, code, dashboard, id, identity, keyId, method, millis, path, role, route } =
    access
  return (
    `{"timestamp":"${new Date(at).toISOString()}","level":"${levelOf(access.status)}","log":"access","request_id":${quoted(id)}` +
    `,"method":${quoted(method)},"path":${quoted(masked(path))},"route":${orNull(route)},"status":${access.status}` +
    `,"code":${orNull(code)},"milliseconds":${Math.round(millis * 100) / 100},"bytes_in":${countOrNull(bytesIn)}` +
    `,"bytes_out":${countOrNull(bytesOut)},"key":${keyId === 0 ? "null" : keyId},"role":${orNull(role)}` +
    `,"identity":${orNull(identity)},"client":${orNull(client)},"dashboard":${dashboard}` +
    `${worker === 0 ? "" : `,"worker":${worker}`}}`
  )
}

const colours = { INFO: 32, WARN: 33, ERROR: 31 } as const

/** One line for people: `[12:00:00.000] 200 GET /v1/db/notes 1.5 ms 120 B key 2 anon 192.0.2.1 <request id>`. */
export const plainLine = (access: Access): string => {
  const { at, bytesOut, client, code, id, identity, keyId, method, millis, path, role, status } = access
  const who = [keyId === 0 ? "" : `key ${keyId}`, role, identity].filter((part) => part !== "").join(" ")
  const parts = [
    `[${new Date(at).toISOString().slice(11, 23)}]`,
    `\u001b[${colours[levelOf(status)]}m${status}\u001b[0m`,
    escaped(method),
    escaped(masked(path)),
    escaped(code),
    `${millis.toFixed(1)} ms`,
    bytesOut < 0 ? "" : `${bytesOut} B`,
    escaped(who),
    escaped(client),
    escaped(id)
  ]
  return parts.filter((part) => part !== "").join(" ")
}
