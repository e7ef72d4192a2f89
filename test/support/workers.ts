import { Agent, request, type RequestOptions } from "node:http"
import { type Service, startService, until } from "./service.ts"

/** A service with two workers. */
export const startWorkers = (dataDir: string, env: Readonly<Record<string, string>> = {}): Promise<Service> =>
  startService({ dataDir, env: { SVC_WORKERS: "2", ...env } })

/** The process of each worker, the latest that served. */
export const workersOf = ({ output }: Pick<Service, "output">): ReadonlyMap<number, number> =>
  new Map(Array.from(output().matchAll(/(\d+) is process (\d+)/g), ([, number, pid]) => [Number(number), Number(pid)]))

/** Kills a worker; returns how long it took until another one served, in ms. */
export const killWorker = async (service: Service, number: number): Promise<number> => {
  const pid = workersOf(service).get(number) ?? 0
  const from = Date.now()
  process.kill(pid, "SIGKILL")
  await until(
    async () => workersOf(service).get(number),
    (now) => now !== pid,
    15_000
  )
  return Date.now() - from
}

export interface Outcome {
  /** Undefined if there was no complete response. */
  readonly status: number | undefined
  readonly remaining: number
  readonly text: string
  /** The code of the error. */
  readonly error: string | undefined
}

/** A connection of its own, which it keeps, so that a worker has it and not another. */
export const connection = () => new Agent({ keepAlive: true, maxSockets: 1 })

/** One request; never rejects. Without an agent, on a new connection. */
export const call = (
  { url }: Pick<Service, "url">,
  path: string,
  options: RequestOptions & { readonly body?: unknown } = {}
): Promise<Outcome> =>
  new Promise((done) => {
    const failed = (error: Error & { readonly code?: string }) =>
      done({ status: undefined, remaining: -1, text: "", error: error.code ?? error.message })
    const { body, headers, ...rest } = options
    const type = body === undefined ? {} : { "content-type": "application/json" }
    const outgoing = request(url + path, { agent: false, ...rest, headers: { ...type, ...headers } }, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (part: string) => (text += part))
      response.once("error", failed)
      response.once("end", () => {
        const remaining = Number(response.headers["x-ratelimit-remaining"])
        done({ status: response.statusCode, remaining, text, error: undefined })
      })
    })
    outgoing.setTimeout(options.timeout ?? 15_000, () => outgoing.destroy(new Error("no response")))
    outgoing.once("error", failed).end(body === undefined ? undefined : JSON.stringify(body))
  })
