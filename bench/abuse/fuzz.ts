import { setTimeout as sleep } from "node:timers/promises"
import { now } from "../support/clock.ts"
import { AnswerCount, type Answers, faultOf } from "./answers.ts"
import { Client } from "./client.ts"
import { fuzzRequest } from "./fuzzRequests.ts"
import { type Server, servers, type Target } from "./pattern.ts"
import { type Response } from "./responses.ts"

export interface Fuzz {
  readonly target: Target
  readonly seed: number
  /** The number of the first request, and of requests. */
  readonly first: number
  readonly count: number
  readonly sockets: number
  /** A request that takes longer fails, in ms. */
  readonly slowMillis: number
}

export interface FuzzAnswers extends Answers {
  readonly slowest: { readonly millis: number; readonly request: string }
}

/** A request without a response for so long fails, in ms. */
const lostMillis = 20_000

/** The request as text: how to repeat it alone, and what it is. */
const described = (seed: number, n: number, { method, path, server }: ReturnType<typeof fuzzRequest>) =>
  `--repeat ${seed}:${n} (${server}: ${method} ${path.slice(0, 300)})`

const clientsOf = (target: Target, count: (server: Server) => ConstructorParameters<typeof Client>[2]) =>
  new Map(
    servers.map((server) => [
      server,
      new Client(0, { port: target.ports[server], localAddress: "127.0.0.1" }, count(server))
    ])
  )

/** Sends the requests in the order of their numbers, `sockets` at once. */
export const fuzz = async (
  { count, first, seed, slowMillis, sockets, target }: Fuzz,
  stopped: AbortSignal
): Promise<FuzzAnswers> => {
  const counted = new AnswerCount()
  let slowest = { millis: 0, request: "" }
  let next = first
  const loop = async () => {
    const clients = clientsOf(target, () => () => undefined)
    while (next < first + count && !stopped.aborted) {
      const n = next++
      const request = fuzzRequest(seed, n, target)
      const client = clients.get(request.server)
      const since = now()
      const timer = setTimeout(() => client?.close(), lostMillis)
      const response = await client?.send(request)
      clearTimeout(timer)
      const millis = now() - since
      if (millis > slowest.millis) slowest = { millis, request: described(seed, n, request) }
      counted.count(String(response?.status ?? "closed"))
      const blame = (kind: string, fault: string) =>
        counted.blame(kind, `${fault}; repeat it with ${described(seed, n, request)}`)
      if (response === undefined) blame("closed", millis < lostMillis ? "closed without a response" : "no response")
      else {
        const fault = faultOf(request.server, response)
        if (fault !== undefined) blame("response", fault)
      }
      if (millis > slowMillis) blame("slow", `${Math.round(millis)} ms`)
    }
    for (const client of clients.values()) client.close()
  }
  await Promise.all(Array.from({ length: sockets }, loop))
  return { ...counted.answers, slowest }
}

/** Sends one request of a run; returns it as it was sent, without the body, and its response. */
export const repeat = async (seed: number, n: number, target: Target) => {
  const request = fuzzRequest(seed, n, target)
  const client = clientsOf(target, () => () => undefined).get(request.server)
  const late = sleep(lostMillis, undefined, { ref: false })
  const response = await Promise.race([client?.send(request), late])
  client?.close()
  const [head = Buffer.alloc(0), body = Buffer.alloc(0)] = request.bytes
  const sent = `${Buffer.from(head).toString("latin1")}${Buffer.from(body).toString("utf8", 0, 1000)}`
  return {
    sent,
    response: response as Response | undefined,
    fault: response && faultOf(request.server, response as Response)
  }
}
