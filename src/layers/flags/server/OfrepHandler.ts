import { answerOfrep, bulkReply, type OfrepReply, plainReply, singleReply } from "../../../domain/flags/Ofrep.ts"
import { contextBytes } from "../../../domain/flags/Evaluation.ts"
import { InvalidRequest, TooManyRequests } from "../../../domain/errors.ts"
import { CallMessage, type EnterTurn } from "./LargeMessages.ts"
import { type NodeRequest, type NodeResponse } from "./Port.ts"
import { type FlagService, allFlags } from "./Service.ts"

const base = "/ofrep/v1/evaluate/flags"

/**
 * Serves the OpenFeature remote evaluation protocol without a key, as flagd does. `report` receives internal errors; the
 * client gets 500 for them.
 */
export const ofrepHandler = (service: FlagService, enter: EnterTurn, report: (cause: unknown) => void) => {
  /** `key` is undefined for all flags. */
  const answer = async ({ headers }: NodeRequest, key: string | undefined, body: Buffer): Promise<OfrepReply> => {
    const selector = headers["flagd-selector"]
    const ifNoneMatch = headers["if-none-match"]
    const request = { key, body, selector: typeof selector === "string" ? selector : undefined, ifNoneMatch }
    const answer = answerOfrep(request, service.environment)
    if ("reply" in answer) return answer.reply
    const set = service.current(answer.environment)
    if (key !== undefined) return singleReply(set.evaluate(key, answer.context, service.now()))
    return bulkReply(await allFlags(set, answer.context, service.now()), { ...set.metadata }, ifNoneMatch)
  }

  return (request: NodeRequest, response: NodeResponse, expect: (millis: number) => void) => {
    const path = (request.url ?? "").split("?", 1)[0] ?? ""
    const key = path === base || path === `${base}/` ? undefined : keyOf(path)
    if (key === "") return send(response, plainReply(404, `No such route: ${path.slice(0, 200)}`))
    if (request.method !== "POST") {
      response.setHeader("allow", "POST")
      return send(
        response,
        plainReply(405, `${request.method ?? ""} is not allowed on ${path.slice(0, 200)}; use POST`)
      )
    }
    const message = new CallMessage(request, response, expect, enter)
    read(message)
      .then((body) => (body === undefined ? plainReply(413, tooLarge) : answer(request, key, body)))
      .catch((cause: unknown) => {
        if (cause instanceof TooManyRequests) return plainReply(429, cause.error)
        if (cause instanceof InvalidRequest) return plainReply(400, cause.error)
        if (!request.destroyed) report(cause)
        return plainReply(500, "Internal error")
      })
      .finally(() => message.done())
      .then((reply) => send(response, reply))
      // The client has disconnected.
      .catch(() => {})
  }
}

const tooLarge = `The body exceeds ${contextBytes} bytes`

/** The key in a path; "" for any other path. */
const keyOf = (path: string) => {
  const match = /^\/ofrep\/v1\/evaluate\/flags\/([^/]+)$/.exec(path)
  try {
    return decodeURIComponent(match?.[1] ?? "")
  } catch {
    return ""
  }
}

/** Undefined as soon as the body is too large; the port discards the rest for a limited time. */
const read = async (message: CallMessage): Promise<Buffer | undefined> => {
  const parts: Array<Uint8Array> = []
  let size = 0
  for await (const part of message.parts()) {
    size += part.length
    if (size > contextBytes) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts)
}

const send = (response: NodeResponse, { body, etag, status }: OfrepReply) => {
  response.statusCode = status
  if (etag !== undefined) response.setHeader("etag", etag)
  if (body === "") return void response.end()
  response.setHeader("content-type", "application/json")
  response.setHeader("content-length", Buffer.byteLength(body))
  response.end(body)
}
