import { Result } from "effect"
import { isUtf8 } from "node:buffer"
import { selectFlags } from "../../../domain/flags/Environment.ts"
import {
  bulkReply,
  contextRefused,
  notFoundReply,
  ofrepBodyLimit,
  ofrepContext,
  type OfrepReply,
  plainReply,
  selectorRefused,
  singleReply
} from "../../../domain/flags/Ofrep.ts"
import { allFlags } from "./AllFlags.ts"
import { type FlagCors } from "./Cors.ts"
import { type NodeRequest, type NodeResponse } from "./Port.ts"
import { type FlagService } from "./Service.ts"

const base = "/ofrep/v1/evaluate/flags"

/**
 * Serves the OpenFeature remote evaluation protocol, as flagd does: without a key. `report` is told what is our own
 * fault; the caller gets 500 then.
 */
export const ofrepHandler = (service: FlagService, cors: FlagCors, report: (cause: unknown) => void) => {
  /** `key` undefined: all flags. */
  const answer = async ({ headers }: NodeRequest, key: string | undefined, body: Buffer): Promise<OfrepReply> => {
    if (!isUtf8(body)) return contextRefused("The body is not valid UTF-8", key)
    const context = ofrepContext(body.toString("utf8"))
    if (Result.isFailure(context)) return contextRefused(context.failure, key)
    const selector = headers["flagd-selector"]
    const environment = selectFlags(typeof selector === "string" ? selector : undefined, service.environment)
    if (typeof environment === "object") return selectorRefused(environment.problem, key)
    const tag = headers["if-none-match"]
    if (environment === "none") return key === undefined ? bulkReply([], {}, tag) : notFoundReply(key, {})
    const set = service.current(environment)
    if (key !== undefined) return singleReply(set.evaluate(key, context.success, service.now()))
    return bulkReply(await allFlags(set, context.success, service.now()), { ...set.metadata }, tag)
  }

  return (request: NodeRequest, response: NodeResponse) => {
    if (cors(request, response)) return
    const path = (request.url ?? "").split("?", 1)[0] ?? ""
    const key = path === base || path === `${base}/` ? undefined : keyOf(path)
    if (key === "") return send(response, plainReply(404, `There is no route ${path.slice(0, 200)}`))
    if (request.method !== "POST") {
      response.setHeader("allow", "POST")
      return send(response, plainReply(405, `${path.slice(0, 200)} knows POST, not ${request.method ?? ""}`))
    }
    read(request)
      .then((body) => (body === undefined ? plainReply(413, tooLarge) : answer(request, key, body)))
      .catch((cause: unknown) => {
        report(cause)
        return plainReply(500, "Something went wrong on our side")
      })
      .then((reply) => send(response, reply))
      // Nobody is there to be told.
      .catch(() => {})
  }
}

const tooLarge = `The body is larger than ${ofrepBodyLimit} bytes`

/** The key in a path; "" when it is no path of ours. */
const keyOf = (path: string) => {
  const match = /^\/ofrep\/v1\/evaluate\/flags\/([^/]+)$/.exec(path)
  try {
    return decodeURIComponent(match?.[1] ?? "")
  } catch {
    return ""
  }
}

/** Undefined as soon as it is too large; the rest is left to the port, which reads on until its patience ends. */
const read = (request: NodeRequest) =>
  new Promise<Buffer | undefined>((done) => {
    const parts: Array<Buffer> = []
    let size = 0
    request
      .on("data", (part: Buffer) => {
        size += part.length
        if (size <= ofrepBodyLimit) parts.push(part)
        else done(undefined)
      })
      .on("end", () => done(Buffer.concat(parts)))
  })

const send = (response: NodeResponse, { body, etag, status }: OfrepReply) => {
  response.statusCode = status
  if (etag !== undefined) response.setHeader("etag", etag)
  if (body === "") return void response.end()
  response.setHeader("content-type", "application/json")
  response.setHeader("content-length", Buffer.byteLength(body))
  response.end(body)
}
