/** Counts how requests ended, and finds the responses that no request may get. */
import { type Outcome } from "./client.ts"
import { type Server } from "./pattern.ts"
import { keptBytes, type Response } from "./responses.ts"

export interface Answers {
  /** By status; `closed` and `refused` for connections, `open` for requests without a response at the end. */
  readonly statuses: Readonly<Record<string, number>>
  readonly wrong: ReadonlyArray<string>
}

const field = (body: string, name: string) => {
  try {
    return (JSON.parse(body) as Record<string, unknown> | null)?.[name]
  } catch {
    return undefined
  }
}

/** Whether an error of the API has its body, or that of OFREP. One above 64 KiB is judged by its beginning. */
const isApiError = ({ body, size }: Response) =>
  size > keptBytes
    ? body.startsWith('{"error":"')
    : (typeof field(body, "error") === "string" && typeof field(body, "request_id") === "string") ||
      typeof field(body, "errorDetails") === "string"

/** The protocol has no body for media types that it does not know. */
const isConnectError = ({ body, status }: Response) => status === 415 || typeof field(body, "code") === "string"

/** Statuses of what is no valid request, which has the API's body on every port. */
const beforeRoutes = new Set([400, 405, 408, 417, 431])

/** The error bodies of each server's protocol. */
const errorBodies: Readonly<Record<Server, (response: Response) => boolean>> = {
  api: isApiError,
  ofrep: (response) =>
    typeof field(response.body, "errorDetails") === "string" ||
    (beforeRoutes.has(response.status) && isApiError(response)),
  flags: isConnectError,
  sync: isConnectError,
  s3: ({ body }) => body.includes("<Error><Code>")
}

const expected5xx = new Set([503, 504])
/** Of Connect: a failed evaluation is `data_loss` there, as with flagd, and has status 500. */
const internalCodes: ReadonlySet<unknown> = new Set(["internal", "unknown"])

/** Whether a status of 500 or more is one that a request can cause. */
const isExpected = (server: Server, { body, status }: Response) =>
  expected5xx.has(status) ||
  (server === "s3" && status === 501) ||
  ((server === "flags" || server === "sync") && !internalCodes.has(field(body, "code") ?? "unknown"))
/** Of each kind. */
const maxExamples = 5

/** What is wrong with a response, whatever the request was; undefined if nothing is. */
export const faultOf = (server: Server, response: Response): string | undefined => {
  const { body, head, method, status } = response
  if (status < 400) return undefined
  const shown = `${status}: ${body === "" ? head.slice(0, 300) : body.slice(0, 300)}`
  if (status >= 500 && !isExpected(server, response)) return shown
  const isPage = /\r\ncontent-type: text\/html/i.test(head)
  if (method === "HEAD" || isPage || errorBodies[server](response)) return undefined
  return `no error body: ${shown}`
}

export class AnswerCount {
  private readonly statuses: Record<string, number> = {}
  private readonly wrong = new Map<string, Array<string>>()

  readonly record = (server: Server, outcome: Outcome) => {
    this.count(typeof outcome === "string" ? outcome : String(outcome.status))
    const fault = typeof outcome === "string" ? undefined : faultOf(server, outcome)
    if (fault !== undefined) this.blame("response", fault)
  }

  readonly count = (ended: string, times = 1) => {
    if (times > 0) this.statuses[ended] = (this.statuses[ended] ?? 0) + times
  }

  /** Keeps the first faults of each kind. */
  readonly blame = (kind: string, fault: string) => {
    const examples = this.wrong.get(kind) ?? []
    if (examples.length < maxExamples) this.wrong.set(kind, [...examples, fault])
  }

  get answers(): Answers {
    return { statuses: this.statuses, wrong: Array.from(this.wrong.values()).flat() }
  }
}
